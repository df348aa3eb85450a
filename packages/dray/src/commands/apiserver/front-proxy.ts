import { X509Certificate } from "node:crypto";
import type { RequestHeader, ServerOptions } from "@dray/apiserver";
import { type Credentials, ownRequestHeader } from "@dray/cluster";
import { check, contents, keyPair } from "../../options/pem-files.ts";

/** kube-apiserver's flags for front proxies, including itself. */
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

/** The values of the flags, with the contents of files. PEM texts. */
export interface FrontProxyOptions {
  /** Client certificate for aggregated API servers. */
  readonly client?: { readonly certificate: string; readonly key: string };
  /** The authority of other front proxies. */
  readonly authority?: string;
  readonly names: Omit<RequestHeader, "clientAuthority">;
}

/** Throws a UsageError that names the flag, its value and what is accepted. */
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

/** Joins the flags with the cluster's own settings: the cluster's own certificate stays trusted. */
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
      // Without names any name is allowed.
      allowedNames:
        ownIsUsed && allowedNames.length > 0 ? [...own.allowedNames, ...allowedNames] : allowedNames,
    },
  };
}
