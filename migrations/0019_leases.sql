-- Work that one server of a tenant does at a time. A lease saves double work and decides nothing: each piece of the work is
-- recorded once, whichever servers are at it. Not logged, so that servers without work write nothing to the disk and wait for
-- no standby; after a crash of the database, or on a standby that took over, the next claim fills it.
create unlogged table lease (
  work   text   primary key,
  holder text   not null,
  -- Milliseconds since the epoch by the database's clock; 0 once given up.
  until  bigint not null,
  constraint lease_work_known check (work in ('audit', 'closing', 'oracle', 'overrides', 'webhooks')),
  -- Servers read the rows every second: they stay small whatever a login writes.
  constraint lease_holder_length check (octet_length(holder) between 1 and 300)
);
