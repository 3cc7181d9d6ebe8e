-- The value that decided a market is shown to its readers without looking through all resolutions.
create index audit_resolution_of_market on audit ((audit_json(payload) ->> 'marketId'))
  where type = 'oracle.resolved';
