import { SIGNATURE_FAULTS } from "./signature-faults.ts";
import { TOKEN_FAULTS } from "./token-faults.ts";

/** What may be wrong with credentials: of user tokens, and of the signatures of webhooks. */
const FAULTS = { ...TOKEN_FAULTS, ...SIGNATURE_FAULTS };

export type CredentialFault = keyof typeof FAULTS;

/** Whether a text, such as a fault's detail, is one of the list. */
export function isCredentialFault(text: unknown): text is CredentialFault {
  return typeof text === "string" && Object.hasOwn(FAULTS, text);
}

/** What is wrong, as a part of a sentence. */
export function credentialFaultText(fault: CredentialFault): string {
  return FAULTS[fault][0];
}

/** What is wrong and what to do, in one sentence without a full stop. */
export function credentialFaultSentence(fault: CredentialFault): string {
  const [says, remedy] = FAULTS[fault];
  return `${says}: ${remedy}`;
}
