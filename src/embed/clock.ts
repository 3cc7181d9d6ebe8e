/** The reader's own clock, milliseconds since the epoch: for what only they see. Closing times go by the server's. */
export const readerClockMs = (): number => Date.now();
