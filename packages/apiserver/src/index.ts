export { type AdmissionPluginName, admissionPluginNames } from "./admission/plugins.ts";
export type { DeviceUsage } from "./admission/unique-device-allocation/device-usage.ts";
export type { TokenEntry } from "./authentication/authenticate.ts";
export type { RequestHeader } from "./authentication/request-header.ts";
export { firstServiceAddress } from "./kinds/core/service/ranges.ts";
export type { Listener, ListenOptions } from "./listener/listener.ts";
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
export type { KubeletClient } from "./proxy/kubelet.ts";
export type { LoopbackPods } from "./proxy/loopback-pods.ts";
export { bodyLimit } from "./request/body-limit.ts";
export { type ApiServer, createServer, type ServerOptions } from "./server/server.ts";
