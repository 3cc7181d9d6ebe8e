"""Signs a token for one user and buys YES shares with it. Python 3.9 or newer, standard library only."""
import base64, hashlib, hmac, json, os, sys, time, urllib.error, urllib.request, uuid

URL = os.environ.get("PREDICT_URL", "http://127.0.0.1:8080")
PUBLIC_KEY, JWT_SECRET = os.environ.get("PUBLIC_API_KEY"), os.environ.get("JWT_SECRET")
if not PUBLIC_KEY or not JWT_SECRET:
    sys.exit("Set PUBLIC_API_KEY and JWT_SECRET")


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def user_token(user: str, life_seconds: int = 600) -> str:
    now = int(time.time())
    header = {"alg": "HS256", "typ": "JWT"}
    claims = {"sub": user, "iat": now, "exp": now + life_seconds}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    mac = hmac.new(JWT_SECRET.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64url(mac)}"


def call(method: str, path: str, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    for name, value in {"x-api-key": PUBLIC_KEY, "content-type": "application/json", **headers}.items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        text = json.load(error)["error"]
        sys.exit(f"{error.code} {error.headers['Error-Code']}: {text} ({error.headers['Request-Id']})")
    except OSError as error:
        sys.exit(f"{URL} does not answer: {error}")


user = sys.argv[1] if len(sys.argv) > 1 else "alice"
market = max(call("GET", "/v1/markets"), key=lambda each: each["closeAt"])  # of the first page, the one that trades longest
order = {"marketId": market["id"], "selection": {"side": "yes"}, "amount": 5}
# One key for each purchase that a person asks for; a repeat sends the same key.
trade = call("POST", "/v1/trade", order, authorization=f"Bearer {user_token(user)}", **{"idempotency-key": str(uuid.uuid4())})
print(f"{user} bought {trade['shares']} YES shares for ${trade['amount']}: {trade['tradeId']}")
