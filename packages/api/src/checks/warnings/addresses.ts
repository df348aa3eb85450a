import { addressWarnings } from "../address.ts";

/** Warnings of a status: `podIPs` and `hostIPs` of pods, `loadBalancer.ingress` of services and ingresses. */
export function statusAddressWarnings(object: {
  readonly status?: {
    readonly podIPs?: readonly { readonly ip?: string }[];
    readonly hostIPs?: readonly { readonly ip?: string }[];
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] };
  };
}): string[] {
  const { podIPs, hostIPs, loadBalancer } = object.status ?? {};
  return [
    ...Object.entries({ podIPs, hostIPs }).flatMap(([name, list]) =>
      (list ?? []).flatMap(({ ip = "" }, index) => addressWarnings(`status.${name}[${index}].ip`, ip)),
    ),
    ...(loadBalancer?.ingress ?? []).flatMap(({ ip = "" }, index) =>
      addressWarnings(`status.loadBalancer.ingress[${index}]`, ip),
    ),
  ];
}
