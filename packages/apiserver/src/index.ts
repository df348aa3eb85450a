export type { DeviceUsage } from "./admission/device-usage.ts";
export { admissionPluginNames } from "./admission/plugin-names.ts";
export type { TokenEntry } from "./authentication/authenticate.ts";
export type { RequestHeader } from "./authentication/request-header.ts";
export type { KubeletClient } from "./kubelet.ts";
export type { Listener, ListenOptions } from "./listener.ts";
export {
  type Certificate,
  type CertificateOptions,
  createAuthority,
  createCertificateRequest,
  createSigningKey,
  issueCertificate,
  parseCertificateRequest,
  signCertificateRequest,
} from "./pki.ts";
export { firstServiceAddress } from "./registry/service/ranges.ts";
export { bodyLimit } from "./serve.ts";
export { type ApiServer, createServer, type ServerOptions } from "./server.ts";
