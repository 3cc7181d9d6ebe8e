import { createContext } from "preact";

/** The row of a table that an action is in. */
export const RowContext = createContext({
  /** The row is no longer in the list. */
  isGone: false,
  /** After an action of this person, the rows need not stay in place. */
  letGo: (): void => undefined,
});
