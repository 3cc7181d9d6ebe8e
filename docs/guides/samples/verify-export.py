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


export, anchors, tenant, key_file = sys.argv[1:5]
secrets = [line for line in open(key_file, encoding="utf-8").read().split("\n") if line]
keys = {"ak_" + hashlib.sha256(f"pmctl-audit-key\n{secret}".encode()).hexdigest()[:12]: secret for secret in secrets}

hashes, previous, settled = {}, "0" * 64, 0
escrow = defaultdict(Decimal)  # dollars held for each market
shares = defaultdict(Decimal)  # by market and side
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
    if kind == "market.created":
        escrow[body["marketId"]] += Decimal(body["liquidity"])
    elif kind == "trade.executed":
        sold = body.get("action") == "sell"
        escrow[body["marketId"]] += -Decimal(body["amount"]) if sold else Decimal(body["amount"]) - Decimal(body["fee"])
        shares[body["marketId"], body["side"]] += Decimal(body["shares"]) * (-1 if sold else 1)
    elif kind == "market.settled":
        market, paid, settled = body["marketId"], Decimal(body["paid"]), settled + 1
        if paid + Decimal(body["returned"]) != escrow[market]:
            fail(f"entry {seq}: {market} held ${escrow[market]}, and gave out ${paid + Decimal(body['returned'])}")
        if paid != shares[market, body["outcome"]]:
            fail(f"entry {seq}: {market} paid ${paid} for {shares[market, body['outcome']]} winning shares")
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
print(f"It holds: {len(hashes)} entries, {agreed} anchors, {settled} settled markets. Head: {previous}")
