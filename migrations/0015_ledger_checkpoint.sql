-- What the ledger held when its rows were last compared from the first one on. Sealed with the audit key, which is not in the
-- database: a row that the key did not seal counts for nothing, and without a row everything is compared again. Not logged:
-- after a crash of the database, or on a standby that took over, just that is wanted.
create unlogged table ledger_checkpoint (
  id          smallint primary key,
  -- The state that the last full comparison read, by the database's clock, and whether it held.
  verified_at bigint   not null,
  ok          boolean  not null,
  -- The audit entry up to which the digest speaks, its hash and its time.
  seq         bigint   not null,
  hash        text     not null,
  ts          bigint   not null,
  -- Of the balances, positions, volumes and current reports at that entry; empty unless it held.
  digest      text     not null,
  key_id      text     not null,
  mac         text     not null,
  constraint ledger_checkpoint_is_one_row check (id = 1),
  -- Servers read the row at each question: it stays small whatever a login writes.
  constraint ledger_checkpoint_hash check (octet_length(hash) = 64 and hash ~ '^[0-9a-f]*$'),
  constraint ledger_checkpoint_digest check (octet_length(digest) in (0, 64) and digest ~ '^[0-9a-f]*$'),
  constraint ledger_checkpoint_key_id check (octet_length(key_id) <= 32),
  constraint ledger_checkpoint_mac check (octet_length(mac) = 64 and mac ~ '^[0-9a-f]*$')
);
