-- What providers have delivered, for ever, in the same commit as its effect. A repeat of the same bytes changes nothing.

create table inbound_delivery (
  -- `payments`, `stripe`, or `kyc:` with the provider's own name.
  provider    text   not null,
  -- Of the raw body, which may hold personal data and is not kept.
  sha256      text   not null,
  event       text   not null,
  -- The event's own identifier or its reference, and whom it names, as far as it says.
  reference   text,
  user_id     text,
  -- Types of the audit entries that it caused, `kept`, or `no effect`.
  outcome     text   not null,
  -- The raw body of an event that is only kept, up to 64 KiB.
  body        text,
  received_at bigint not null,
  primary key (provider, sha256),
  constraint inbound_delivery_hash_is_sha256 check (length(sha256) = 64)
);

-- The log by type and by actor. Users' trades, which are most of it, pay for neither: they are found by their own table.
create index audit_by_type on audit (type, seq) where type <> 'trade.executed';
create index audit_by_actor on audit (actor, seq) where actor not like 'user:%' or type <> 'trade.executed';
