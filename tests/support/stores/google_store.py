"""What Google's object store answers to its XML API, as far as an archive needs it: a program.

That API is S3's but for two things, so moto serves it. A put may be conditional on a generation
(`x-goog-if-generation-match: 0`, nothing may be there) where S3 has `If-None-Match: *`; and the
token of OAuth is no signature that moto knows.
https://cloud.google.com/storage/docs/xml-api/reference-headers
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

SIGNED = "AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request"


def main(port: int) -> None:
    """Serve until killed."""
    s3 = DomainDispatcherApplication(create_backend_app)

    def as_s3(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["HTTP_AUTHORIZATION"] = SIGNED
        if environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        reply: Iterable[bytes] = s3(environ, start_response)
        return reply

    run_simple("127.0.0.1", port, as_s3, threaded=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
