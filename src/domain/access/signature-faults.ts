/**
 * The possible faults of a webhook's signature, and their remedies for the sender. Only operators see the fault: the
 * caller gets the same answer for all. The time is checked only under a valid signature.
 */
export const SIGNATURE_FAULTS = {
  "no-secret": ["the endpoint has no secret", "list one under webhooks.inbound of the tenant file"],
  "other-tenant": ["the path names another tenant", "post to the path that ends with this tenant's name"],
  "signature-missing": ["the webhook has no signature", "send the header X-Signature or webhook-signature"],
  "scheme-old": [
    "the endpoint does not accept X-Signature",
    "sign according to Standard Webhooks, or state scheme: any under webhooks.inbound",
  ],
  "id-invalid": ["webhook-id is missing or not valid", "send 1 to 255 visible ASCII characters without a dot"],
  "signature-wrong": [
    "the signature does not match these bytes and any secret of the endpoint",
    "sign the exact bytes that you send; if the secret begins with whsec_, the decoded base64 is the key for webhook-signature, but not for X-Signature",
  ],
  "time-invalid": ["the time cannot be read", "send whole seconds since 1970"],
  "time-off": ["the time is more than five minutes off", "sign each attempt anew, with a correct clock"],
  "provider-signature": [
    "the provider's signature does not verify, or its time is more than five minutes off",
    "copy the provider's secret into the tenant file again, and resend the webhook from the provider",
  ],
} as const satisfies Record<string, readonly [says: string, remedy: string]>;

export type SignatureFault = keyof typeof SIGNATURE_FAULTS;
