-- What the reason leaves open, such as the fault of a refused user token: a word of a closed list, never a value.
alter table security_event add column detail text;
