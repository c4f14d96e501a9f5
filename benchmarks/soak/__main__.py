import tempfile, sys
from pathlib import Path
from benchmarks.soak import abuses
from benchmarks.soak.measurement import measure
from benchmarks.servers import redis_program, rillway_program
import resource
h=resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE,(h,h))
scale=float(sys.argv[1]); names=sys.argv[2:]
progs=[rillway_program(), redis_program("redis-server")]
import os
if os.environ.get("OURS"): progs=progs[:1]
for n in names:
    for p in progs:
        with tempfile.TemporaryDirectory() as d:
            m=measure(p,getattr(abuses,n),scale,Path(d))
        f=lambda x: f"{x.resident/1e6:.0f}/{x.used/1e6:.0f}"
        print(f"{n:28}{m.title:15} p50 {m.p50:.2f} p99.9 {m.p999:.2f} max {m.longest:.1f} n {m.requests} mem {f(m.before)} {f(m.peak)} {f(m.after)}", {k:round(v,2) for k,v in m.figures.items()}, m.failures, flush=True)
