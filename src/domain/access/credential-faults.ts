import { SIGNATURE_FAULTS } from "./signature-faults.ts";
import { TOKEN_FAULTS } from "./token-faults.ts";

/** The possible faults of credentials: user tokens, and signatures of webhooks. */
const FAULTS = { ...TOKEN_FAULTS, ...SIGNATURE_FAULTS };

export type CredentialFault = keyof typeof FAULTS;

/** Whether a text, such as an error's detail, is a known fault. */
export function isCredentialFault(text: unknown): text is CredentialFault {
  return typeof text === "string" && Object.hasOwn(FAULTS, text);
}

/** The fault as part of a sentence. */
export function credentialFaultText(fault: CredentialFault): string {
  return FAULTS[fault][0];
}

/** The fault and its remedy in one sentence without a full stop. */
export function credentialFaultSentence(fault: CredentialFault): string {
  const [says, remedy] = FAULTS[fault];
  return `${says}: ${remedy}`;
}
