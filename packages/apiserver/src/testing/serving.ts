import { createAuthority, issueCertificate } from "../index.ts";
import type { ServerOptions } from "../server/options.ts";

/** Makes the certificates of a server on 127.0.0.1; clients trust its `clientAuthority`. */
export async function testServing(): Promise<NonNullable<ServerOptions["serving"]>> {
  const now = Date.now();
  const authority = await createAuthority("test-ca", now);
  const pair = await issueCertificate(
    authority,
    { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] },
    now,
  );
  return { ...pair, clientAuthority: authority.certificate };
}
