"""Computes the signature of a request with botocore.

The argument is an object with `method`, `url`, `headers`, `body`, `service`, `region`, `id` and `secret`. The headers
are those that the request has signed. Prints the header `Authorization` that botocore computes for its time.
"""

import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def authorization(asked: dict) -> str:
    """Returns the header that botocore sends."""
    signer = SigV4Auth(Credentials(asked["id"], asked["secret"]), asked["service"], asked["region"])
    headers = asked["headers"]
    request = AWSRequest(asked["method"], asked["url"], headers=headers, data=asked["body"].encode())
    request.context["timestamp"] = headers["x-amz-date"]
    if headers["x-amz-content-sha256"] != signer.payload(request):
        return "the hash of the body is wrong"
    names = signer.signed_headers(signer.headers_to_sign(request))
    to_sign = signer.string_to_sign(request, signer.canonical_request(request))
    signature = signer.signature(to_sign, request)
    return f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={names}, Signature={signature}"


print(authorization(json.loads(sys.argv[1])))
