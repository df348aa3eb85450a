import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import type { KubeletClient, ServerOptions } from "@dray/apiserver";
import { portRangeOf, rangesOf } from "../../options/addresses.ts";
import { admissionPluginOptions } from "../../options/admission-plugins.ts";
import { check, contents, keyPair } from "../../options/pem-files.ts";
import { advertiseAddressOption, durationOption, isOn, truth, wholeNumber } from "../../options/values.ts";
import { UsageError } from "../../terminal/failure.ts";
import { type FrontProxyFlags, type FrontProxyOptions, frontProxyOptions } from "./front-proxy.ts";
import { parseTokenFile } from "./token-file.ts";

/** Flags with the meaning of kube-apiserver's. */
export interface UpstreamFlags extends FrontProxyFlags {
  readonly enableAdmissionPlugins?: string;
  readonly disableAdmissionPlugins?: string;
  readonly anonymousAuth?: string | true;
  readonly enableBootstrapTokenAuth?: string | true;
  readonly tokenAuthFile?: string;
  readonly clientCaFile?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly serviceAccountIssuer?: string;
  readonly serviceAccountJwksUri?: string;
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceAccountKeyFile?: readonly string[];
  readonly serviceClusterIpRange?: string;
  readonly serviceNodePortRange?: string;
  readonly loopbackPods?: string | true;
  readonly advertiseAddress?: string;
  readonly kubeletCertificateAuthority?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly kubeletPreferredAddressTypes?: string;
  readonly kubeletTimeout?: string;
  readonly requestTimeout?: string;
  readonly maxRequestsInflight?: string;
  readonly maxMutatingRequestsInflight?: string;
  readonly enablePriorityAndFairness?: string | true;
}

/** The values of the flags, with the contents of files. PEM texts. */
export interface UpstreamOptions {
  readonly server: Pick<
    ServerOptions,
    | "enabledAdmissionPlugins"
    | "disabledAdmissionPlugins"
    | "anonymous"
    | "bootstrapTokens"
    | "tokens"
    | "maxRequestsInFlight"
    | "maxMutatingRequestsInFlight"
    | "priorityAndFairness"
    | "requestTimeout"
    | "serviceRanges"
    | "nodePorts"
  >;
  readonly advertiseAddress?: string;
  /** Pods are processes of this machine. */
  readonly hasLoopbackPods: boolean;
  /** Trusted in addition to the cluster's own. */
  readonly clientAuthority?: string;
  /** Replaces the cluster's own. */
  readonly serving?: { readonly certificate: string; readonly key: string };
  readonly frontProxy: FrontProxyOptions;
  /** A client certificate replaces the cluster's own. */
  readonly kubelet: KubeletClient;
  readonly serviceAccounts: {
    readonly key?: string;
    readonly issuer?: string;
    readonly jwksUri?: string;
    readonly verificationKeys?: readonly string[];
  };
}

/** Throws a UsageError that names the flag, its value and what is accepted. */
export function upstreamOptions(flags: UpstreamFlags): UpstreamOptions {
  const tokens = contents("--token-auth-file", flags.tokenAuthFile);
  const clientAuthority = contents("--client-ca-file", flags.clientCaFile);
  if (clientAuthority !== undefined)
    check("--client-ca-file", flags.clientCaFile, () => new X509Certificate(clientAuthority));
  const serving = keyPair(
    { flag: "--tls-cert-file", file: flags.tlsCertFile },
    { flag: "--tls-private-key-file", file: flags.tlsPrivateKeyFile },
  );
  const keyFile = flags.serviceAccountSigningKeyFile;
  const key = contents("--service-account-signing-key-file", keyFile);
  if (key !== undefined) check("--service-account-signing-key-file", keyFile, () => createPrivateKey(key));
  const verificationKeys = (flags.serviceAccountKeyFile ?? []).flatMap(keysOf);
  const serviceRanges = rangesOf(flags.serviceClusterIpRange);
  const nodePorts = portRangeOf(flags.serviceNodePortRange);
  const advertiseAddress = advertiseAddressOption(flags.advertiseAddress);
  const requestTimeout = durationOf("--request-timeout", flags.requestTimeout);
  const issuer = checkedIssuer(flags.serviceAccountIssuer);
  const jwksUri = checkedJwksUri(flags.serviceAccountJwksUri);
  const reads = limit("--max-requests-inflight", flags.maxRequestsInflight);
  const writes = limit("--max-mutating-requests-inflight", flags.maxMutatingRequestsInflight);
  const priorityAndFairness = byDefaultOn("--enable-priority-and-fairness", flags.enablePriorityAndFairness);
  checkSeats(priorityAndFairness, reads, writes);
  return {
    server: {
      ...admissionPluginOptions(flags.enableAdmissionPlugins, flags.disableAdmissionPlugins),
      anonymous: byDefaultOn("--anonymous-auth", flags.anonymousAuth),
      bootstrapTokens: isOn("--enable-bootstrap-token-auth", flags.enableBootstrapTokenAuth),
      tokens: tokens === undefined ? [] : parseTokenFile(flags.tokenAuthFile ?? "", tokens),
      ...(reads === undefined ? {} : { maxRequestsInFlight: reads }),
      ...(writes === undefined ? {} : { maxMutatingRequestsInFlight: writes }),
      priorityAndFairness,
      ...(requestTimeout === undefined ? {} : { requestTimeout }),
      ...(serviceRanges === undefined ? {} : { serviceRanges }),
      ...(nodePorts === undefined ? {} : { nodePorts }),
    },
    ...(advertiseAddress === undefined ? {} : { advertiseAddress }),
    hasLoopbackPods: isOn("--loopback-pods", flags.loopbackPods),
    ...(clientAuthority === undefined ? {} : { clientAuthority }),
    ...(serving === undefined ? {} : { serving }),
    frontProxy: frontProxyOptions(flags),
    kubelet: kubeletClient(flags),
    serviceAccounts: {
      ...(key === undefined ? {} : { key }),
      verificationKeys,
      ...(issuer === undefined ? {} : { issuer }),
      ...(jwksUri === undefined ? {} : { jwksUri }),
    },
  };
}

const byDefaultOn = (flag: string, value: string | true | undefined): boolean =>
  value === undefined || value === true || truth(flag, value);

/** Priority levels share the seats of both limits (kube-apiserver checks the same). */
function checkSeats(isEnabled: boolean, reads: number | undefined, writes: number | undefined): void {
  if (!isEnabled || reads !== 0 || writes !== 0) return;
  throw new UsageError(
    "--max-requests-inflight 0, --max-mutating-requests-inflight 0: must add up to more than 0; --enable-priority-and-fairness=false takes 0 for any number",
  );
}

function limit(flag: string, value: string | undefined): number | undefined {
  return value === undefined ? undefined : wholeNumber(flag, value, 0, 2 ** 31 - 1);
}

/** Returns the keys and certificates of a file, each separately. */
function keysOf(file: string): string[] {
  const flag = "--service-account-key-file";
  const blocks = contents(flag, file)?.match(/-----BEGIN ([A-Z ]+)-----[\s\S]*?-----END \1-----/g) ?? [];
  for (const block of blocks) check(flag, file, () => createPublicKey(block));
  if (blocks.length === 0) throw new UsageError(`${flag} ${file}: must hold keys in PEM form`);
  return [...blocks];
}

function durationOf(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationOption(flag, text);
}

const addressTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/**
 * Reads the flags for connections to kubelets. The timeout is read and, as upstream, unused.
 * Upstream: cmd/kube-apiserver/app/options/options.go
 */
function kubeletClient(flags: UpstreamFlags): KubeletClient {
  const flag = "--kubelet-certificate-authority";
  const file = flags.kubeletCertificateAuthority;
  const authority = contents(flag, file);
  if (authority !== undefined) check(flag, file, () => new X509Certificate(authority));
  const own = keyPair(
    { flag: "--kubelet-client-certificate", file: flags.kubeletClientCertificate },
    { flag: "--kubelet-client-key", file: flags.kubeletClientKey },
  );
  const types = flags.kubeletPreferredAddressTypes?.split(",").map((type) => type.trim());
  const unknown = types?.find((type) => !addressTypes.includes(type));
  if (unknown !== undefined)
    throw new UsageError(
      `--kubelet-preferred-address-types ${JSON.stringify(unknown)}: must be among ${addressTypes.join(", ")}`,
    );
  durationOf("--kubelet-timeout", flags.kubeletTimeout);
  return {
    ...own,
    ...(authority === undefined ? {} : { authority }),
    ...(types === undefined ? {} : { addressTypes: types }),
  };
}

/** An issuer with a colon must be a URL; any other text is accepted (kube-apiserver checks the same). */
function checkedIssuer(issuer: string | undefined): string | undefined {
  if (issuer === undefined || (issuer !== "" && (!issuer.includes(":") || URL.canParse(issuer))))
    return issuer;
  throw new UsageError(`--service-account-issuer ${issuer}: must be a URL, or a text without a colon`);
}

function checkedJwksUri(uri: string | undefined): string | undefined {
  if (uri === undefined || uri === "" || (URL.canParse(uri) && uri.startsWith("https:")))
    return uri || undefined;
  throw new UsageError(`--service-account-jwks-uri ${uri}: must be a URL of https`);
}
