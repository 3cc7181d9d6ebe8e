-- The webhooks of all providers, and of one, by time.
create index inbound_delivery_by_time on inbound_delivery (received_at desc, provider desc, sha256 desc);
create index inbound_delivery_by_provider on inbound_delivery (provider, received_at desc, sha256 desc);
