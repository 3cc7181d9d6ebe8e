"""Checks an exported audit log. Usage: verify-export.py EXPORT ANCHORS|- TENANT KEYFILE, with a key on each line of KEYFILE."""
import hashlib, hmac, json, sys
from collections import defaultdict
from decimal import Decimal


def fail(text):
    sys.exit(f"DOES NOT HOLD: {text}")


def mac(key_id, *lines):
    if key_id not in keys:
        fail(f"the key {key_id} is not in {key_file}")
    return hmac.new(keys[key_id].encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()


def micro(text):
    return int(Decimal(text) * 1_000_000)


def usd(micro_usd):
    return f"${Decimal(micro_usd) / 1_000_000:f}"


def pays(market, outcome):  # what each user is paid, and the fees within it, in micro-dollars
    users, yes = defaultdict(int), micro(outcome["yes"]) if isinstance(outcome, dict) else 1_000_000 * (outcome == "yes")
    for (user, side), (held, cost, _) in positions[market].items():
        users[user] += cost if outcome == "void" else held * (yes if side == "yes" else 1_000_000 - yes) // 1_000_000
    return users, sum(fee for _, _, fee in positions[market].values()) if outcome == "void" else 0


export, anchors, tenant, key_file = sys.argv[1:5]
secrets = [line for line in open(key_file, encoding="utf-8").read().split("\n") if line]
keys = {"ak_" + hashlib.sha256(f"pmctl-audit-key\n{secret}".encode()).hexdigest()[:12]: secret for secret in secrets}

hashes, previous, ends, escrow = {}, "0" * 64, {}, defaultdict(int)  # outcome and micro-dollars by market
positions = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))  # shares, cost and fees by market, user and side
for number, line in enumerate(open(export, encoding="utf-8", newline="\n"), 1):
    try:
        entry = json.loads(line)
        seq, kind, text, found = entry["seq"], entry["type"], entry["payloadText"], entry["hash"]
        body = json.loads(text)
        sealed = mac(entry["keyId"], "pmctl-audit-v1", previous, entry["keyId"], str(seq), entry["ts"], kind, entry["actor"], text)
    except (ValueError, KeyError, TypeError):
        fail(f"line {number} is not an entry")
    if seq != number:
        fail(f"line {number} holds entry {seq}: an entry is missing, repeated or in another place")
    if found != sealed or entry["payload"] != body:
        fail(f"entry {seq} ({kind}) was altered")
    hashes[seq] = previous = found
    market = body.get("marketId")
    if kind == "market.created":
        escrow[market] += micro(body["liquidity"])
    elif kind == "trade.executed":
        amounts, held = [micro(body[name]) for name in ("shares", "amount", "fee")], positions[market][body["userId"], body["side"]]
        sold = body.get("action") == "sell"
        escrow[market] += -amounts[1] if sold else amounts[1] - amounts[2]
        held[:] = [has - has * amounts[0] // (held[0] or 1) if sold else has + more for has, more in zip(held, amounts)]
    elif kind in ("market.settled", "market.voided"):
        ends[market], void = body.get("outcome", "void"), kind == "market.voided"
        (users, fees), paid = pays(market, ends[market]), micro(body["refunded" if void else "paid"])
        kept = micro(body["toTreasury"]) - micro(body["fromTreasury"]) - micro(body["fromFees"]) if void else micro(body["returned"])
        if paid + kept != escrow[market]:
            fail(f"entry {seq}: {market} held {usd(escrow[market])}, and gave out {usd(paid + kept)}")
        if paid != sum(users.values()) or (void and micro(body["fromFees"]) != fees):
            fail(f"entry {seq}: {market} paid {usd(paid)}, and its positions get {usd(sum(users.values()))}")
    elif kind == "market.corrected":
        old, new = pays(market, ends.get(market))[0], pays(market, body["outcome"])[0]
        ends[market], changes = body["outcome"], [new[user] - old[user] for user in new]
        if [micro(body["takenBack"]), micro(body["paid"])] != [-sum(x for x in changes if x < 0), sum(x for x in changes if x > 0)]:
            fail(f"entry {seq}: the correction of {market} moved other sums than its positions get")
agreed = 0
for agreed, line in enumerate([] if anchors == "-" else open(anchors, encoding="utf-8"), 1):
    try:
        one = json.loads(line)
        signed = mac(one["keyId"], "pmctl-anchor-v1", one["tenant"], str(one["seq"]), one["hash"], one["ts"], one["keyId"])
    except (ValueError, KeyError, TypeError):
        fail(f"line {agreed} of {anchors} is not an anchor")
    if one["tenant"] != tenant or one["signature"] != signed:
        fail(f"the anchor of entry {one['seq']} is not signed for {tenant}")
    if hashes.get(one["seq"]) != one["hash"]:
        fail(f"entry {one['seq']} is not the one that its anchor names: the log was cut or replaced")
print(f"It holds: {len(hashes)} entries, {agreed} anchors, {len(ends)} settled markets. Head: {previous}")
