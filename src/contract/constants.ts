/** The media type of an answer in lines of JSON. */
export const AUDIT_LINES = "application/x-ndjson";

/** The most markets of one request for recent prices: a full page of the list. */
export const RECENT_MARKETS = 200;

/** The most markets in a snapshot and in a filter of the stream. */
export const STREAM_MARKETS = 500;
