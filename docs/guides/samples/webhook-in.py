"""Reports a passed identity check and a deposit, signed as Standard Webhooks asks. Python standard library only."""
import base64, hashlib, hmac, json, os, sys, time, urllib.error, urllib.request, uuid
from datetime import datetime, timezone

URL = os.environ.get("PREDICT_URL", "http://127.0.0.1:8080")
TENANT, SECRET = os.environ.get("TENANT"), os.environ.get("WEBHOOK_SECRET")
if not TENANT or not SECRET or len(sys.argv) != 3:
    sys.exit("Set TENANT and WEBHOOK_SECRET, and name a user and a reference: webhook-in.py nadia tx_0001")


def signed(body: bytes) -> dict:
    if os.environ.get("SCHEME") == "v1":  # the older scheme: the whole secret is the key, and no time is signed
        return {"x-signature": hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}
    # Behind whsec_ the key is base64; a secret without whsec_ is the key as it is.
    key = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
    message_id, sent_at = f"msg_{uuid.uuid4()}", str(int(time.time()))
    mac = hmac.new(key, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(mac).decode()}"
    return {"webhook-id": message_id, "webhook-timestamp": sent_at, "webhook-signature": signature}


def send(path: str, event: dict) -> None:
    # The signature covers the bytes that are sent: serialise once, and send what was signed.
    body = json.dumps(event).encode()
    headers = {"content-type": "application/json", **signed(body)}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, body, headers), timeout=10) as response:
            print(path, response.status, response.read().decode())
    except urllib.error.HTTPError as error:
        text = json.load(error)["error"]
        sys.exit(f"{path} {error.code} {error.headers['Error-Code']}: {text} ({error.headers['Request-Id']})")
    except OSError as error:
        sys.exit(f"{URL} does not answer: {error}")


user, reference = sys.argv[1:]
now = datetime.now(timezone.utc).isoformat()
send(f"/kyc/inbound/{TENANT}", {"userId": user, "status": "passed", "provider": "idv", "verifiedAt": now})
send(f"/payments/inbound/{TENANT}", {"event": "deposit.completed", "userId": user, "amountUsd": 100, "txRef": reference})
