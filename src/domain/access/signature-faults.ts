/**
 * What is wrong with the signature of a webhook, and what its sender does about it. Only operators learn it: the caller
 * reads the same answer whatever is wrong. A time is judged only under a signature that holds.
 */
export const SIGNATURE_FAULTS = {
  "no-secret": ["the endpoint has no secret", "list one under webhooks.inbound of the tenant file"],
  "other-tenant": ["the path names another tenant", "post to the path that ends with this tenant's name"],
  "signature-missing": ["the webhook has no signature", "send the header X-Signature or webhook-signature"],
  "scheme-old": [
    "the endpoint takes no X-Signature",
    "sign as Standard Webhooks asks, or state scheme: any under webhooks.inbound",
  ],
  "id-invalid": ["webhook-id is missing or not valid", "send 1 to 255 visible ASCII characters without a dot"],
  "signature-wrong": [
    "the signature is not that of these bytes under a secret of the endpoint",
    "sign the bytes that you send; of whsec_ and base64 the decoded bytes are the key in webhook-signature, never in X-Signature",
  ],
  "time-invalid": ["the time cannot be read", "send whole seconds since 1970"],
  "time-off": ["the time is more than five minutes off", "sign each attempt anew, by a correct clock"],
  "provider-signature": [
    "the provider's signature does not verify, or its time is more than five minutes off",
    "copy the provider's secret into the tenant file anew, and send the webhook again from the provider",
  ],
} as const satisfies Record<string, readonly [says: string, remedy: string]>;

export type SignatureFault = keyof typeof SIGNATURE_FAULTS;
