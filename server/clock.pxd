# The C types of server/clock.py.

cpdef long long now_ms()
