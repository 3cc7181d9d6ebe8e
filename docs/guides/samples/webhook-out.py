"""Receives events and verifies them. Python 3.9 or newer, standard library only."""
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["EVENTS_SECRET"]  # the tenant file's secret: behind whsec_ it is base64, otherwise the key as it is
KEY = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
seen = set()  # keep this in your database


def verifies(headers, body: bytes) -> bool:
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > 300:
        return False
    mac = hmac.new(KEY, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(mac).decode()}"
    # While a secret is replaced, the header holds a signature of each, with a space between them.
    return any(hmac.compare_digest(each.encode(), expected.encode()) for each in headers.get("webhook-signature", "").split(" "))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # The signature covers the bytes that arrived: verify before parsing.
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        authentic = verifies(self.headers, body)
        if authentic and self.headers["webhook-id"] not in seen:
            seen.add(self.headers["webhook-id"])
            event = json.loads(body)
            print(event["type"], event["data"].get("sequence", ""), flush=True)
        self.send_response(204 if authentic else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print("port", server.server_port, flush=True)
server.serve_forever()
