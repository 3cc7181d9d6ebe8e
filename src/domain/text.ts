/*
 * Characters that people do not see, or that change how the text around them is read: control characters, half surrogate
 * pairs, separators of lines, marks that turn the direction of writing, the byte order mark. A question with one of them
 * reads otherwise than it is, in a terminal, a page or a log.
 */

/** One line that reads as it is. */
export const PLAIN_LINE = /^[^\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff]*$/u;

/** The same for text of several lines: newlines and tabs are legal. */
export const PLAIN_TEXT = /^(?:[\n\t]|[^\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff])*$/u;
