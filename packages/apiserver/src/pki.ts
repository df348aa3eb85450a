/** Keys, certificates, and the tokens that are signed with them. */
export { serviceAccountTokenSigner } from "./authentication/sign-legacy-token.ts";
export { type CertificateRequest, parseCertificateRequest } from "./certificates/certificate-request.ts";
export { type SigningOptions, signCertificateRequest } from "./certificates/certificate-signing.ts";
export {
  type Certificate,
  type CertificateOptions,
  createAuthority,
  createCertificateRequest,
  createSigningKey,
  issueCertificate,
  type RequestOptions,
  withKeyForm,
} from "./certificates/pki.ts";
