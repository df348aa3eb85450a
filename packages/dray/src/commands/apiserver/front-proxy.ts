import { X509Certificate } from "node:crypto";
import type { RequestHeader, ServerOptions } from "@dray/apiserver";
import { type Credentials, ownRequestHeader } from "@dray/cluster";
import { check, contents, keyPair } from "../../options/pem-files.ts";

/** Flags of kube-apiserver about front proxies, itself among them. */
export interface FrontProxyFlags {
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames?: string;
  readonly requestheaderUsernameHeaders?: string;
  readonly requestheaderUidHeaders?: string;
  readonly requestheaderGroupHeaders?: string;
  readonly requestheaderExtraHeadersPrefix?: string;
}

/** Options of the flags, with the contents of files in place of their names. PEM texts. */
export interface FrontProxyOptions {
  /** Client certificate for the API servers behind it. */
  readonly client?: { readonly certificate: string; readonly key: string };
  /** Signs the certificates of other front proxies. */
  readonly authority?: string;
  readonly names: Omit<RequestHeader, "clientAuthority">;
}

/** Throws a UsageError that names flag, value and what is accepted. */
export function frontProxyOptions(flags: FrontProxyFlags): FrontProxyOptions {
  const client = keyPair(
    { flag: "--proxy-client-cert-file", file: flags.proxyClientCertFile },
    { flag: "--proxy-client-key-file", file: flags.proxyClientKeyFile },
  );
  const flag = "--requestheader-client-ca-file";
  const authority = contents(flag, flags.requestheaderClientCaFile);
  if (authority !== undefined)
    check(flag, flags.requestheaderClientCaFile, () => new X509Certificate(authority));
  const lists = {
    allowedNames: flags.requestheaderAllowedNames,
    usernameHeaders: flags.requestheaderUsernameHeaders,
    uidHeaders: flags.requestheaderUidHeaders,
    groupHeaders: flags.requestheaderGroupHeaders,
    extraHeaderPrefixes: flags.requestheaderExtraHeadersPrefix,
  };
  return {
    ...(client === undefined ? {} : { client }),
    ...(authority === undefined ? {} : { authority }),
    names: Object.fromEntries(
      Object.entries(lists).flatMap(([name, text]) => (text === undefined ? [] : [[name, listOf(text)]])),
    ),
  };
}

const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");

/**
 * With the flags' own in the place of, or beside, what the cluster has: its own certificate stays believed.
 */
export function frontProxy(
  { client, authority, names }: FrontProxyOptions,
  credentials: Pick<Credentials, "frontProxyAuthority" | "frontProxyClient">,
): Pick<ServerOptions, "proxyClient" | "requestHeader"> {
  const own = ownRequestHeader(credentials);
  if (authority === undefined)
    return {
      proxyClient: client ?? credentials.frontProxyClient,
      requestHeader: { ...own, ...names, allowedNames: [...own.allowedNames, ...(names.allowedNames ?? [])] },
    };
  const { allowedNames = [] } = names;
  const ownIsUsed = client === undefined;
  return {
    proxyClient: client ?? credentials.frontProxyClient,
    requestHeader: {
      ...names,
      clientAuthority: ownIsUsed ? `${own.clientAuthority}\n${authority}` : authority,
      // No names at all: any is allowed.
      allowedNames:
        ownIsUsed && allowedNames.length > 0 ? [...own.allowedNames, ...allowedNames] : allowedNames,
    },
  };
}
