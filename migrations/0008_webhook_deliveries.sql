-- Outgoing webhooks. What happened stands in the audit log; here is only how far each receiver has been told.

create table webhook_receiver (
  name         text   primary key,
  -- The last audit entry whose events have become deliveries. A new receiver begins at the head.
  position     bigint not null,
  -- Hash of its address and events: a receiver that was changed is tried again.
  fingerprint  text   not null,
  -- Since when it wants nothing more (410); null while it is served.
  disabled_at  bigint,
  -- Attempts that failed since the last one that did not. From some number on, fresh events wait until paused_until.
  failures     integer not null default 0,
  paused_until bigint  not null default 0
);

-- One event for one receiver. The delivery's bytes are made from the audit entry, seq, at each attempt.
create table webhook_delivery (
  receiver        text    not null,
  event_id        text    not null,
  seq             bigint  not null,
  type            text    not null,
  status          text    not null,
  attempts        integer not null,
  created_at      bigint  not null,
  -- When it is due. While an attempt is under way, when that counts as lost and anybody may make the next one.
  next_attempt_at bigint  not null,
  last_attempt_at bigint,
  -- Of the last answer: its status, null when none came, and its beginning or what went wrong.
  last_status     integer,
  last_excerpt    text,
  primary key (receiver, event_id),
  constraint webhook_delivery_status_known check (status in ('pending', 'delivered', 'dead'))
) with (fillfactor = 70);
create index webhook_delivery_due on webhook_delivery (receiver, next_attempt_at, seq) where status = 'pending';
create index webhook_delivery_by_seq on webhook_delivery (seq, receiver);
create index webhook_delivery_by_age on webhook_delivery (created_at);
