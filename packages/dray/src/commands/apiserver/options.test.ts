import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createAuthority, issueCertificate } from "@dray/apiserver";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { admissionPluginOptions } from "../../options/admission-plugins.ts";
import { runtimeConfigOption } from "../../options/values.ts";
import { inFolder, output, start } from "../../testing/program.ts";
import { type UpstreamFlags, upstreamOptions } from "./options.ts";
import { parseTokenFile } from "./token-file.ts";

test("a token file is read as kube-apiserver reads it", () => {
  const text =
    't1,ann,u1,"dev,ops"\r\n\nt2,"a ""quoted"", name",\n,nobody,u\nt1,bob,u3,one\nt3,joe,u4,"",more\n';
  assert.deepEqual(parseTokenFile("f", text), [
    { token: "t1", user: { name: "bob", uid: "u3", groups: ["one"] } },
    { token: "t2", user: { name: 'a "quoted", name', groups: [] } },
    { token: "t3", user: { name: "joe", uid: "u4", groups: [""] } },
  ]);
  assert.throws(() => parseTokenFile("f", "a,b,c\nx,y\n"), {
    message: /f: line 2 must have at least 3 columns \(token, user name, user uid\), found 2/,
  });
  assert.throws(() => parseTokenFile("f", 'a,b,"c\n'), { message: /f: line 1: a quote must/ });
  assert.throws(() => parseTokenFile("f", 'a,b"c,d\n'), { message: /f: line 1: a quote must/ });
});

const mistakes: readonly [flags: UpstreamFlags, message: RegExp][] = [
  [{ disableAdmissionPlugins: "Frob" }, /^--disable-admission-plugins Frob: must be among .*PodSecurity/],
  [{ enableAdmissionPlugins: "AlwaysPullImages" }, /AlwaysPullImages: Dray does not have it; it has Name/],
  [
    { enableAdmissionPlugins: "Priority", disableAdmissionPlugins: "PodSecurity,Priority" },
    /both name Priority$/,
  ],
  [{ anonymousAuth: "no" }, /^--anonymous-auth no: must be true or false$/],
  [
    { kubeletClientCertificate: "a" },
    /^--kubelet-client-certificate and --kubelet-client-key must be given together$/,
  ],
  [
    { kubeletCertificateAuthority: "package.json" },
    /^--kubelet-certificate-authority package.json: must hold certificates in PEM form: /,
  ],
  [
    { kubeletClientCertificate: "package.json", kubeletClientKey: "package.json" },
    /^--kubelet-client-key package.json: must hold a private key in PEM form: /,
  ],
  [
    { kubeletPreferredAddressTypes: "InternalIP,Name" },
    /^--kubelet-preferred-address-types "Name": must be among Hostname, InternalDNS, /,
  ],
  [{ kubeletTimeout: "soon" }, /^--kubelet-timeout soon: must be a duration above 0/],
  [{ tlsPrivateKeyFile: "a" }, /^--tls-cert-file and --tls-private-key-file must be given together$/],
  [{ tokenAuthFile: "none" }, /^--token-auth-file none: there is no such file$/],
  [{ clientCaFile: "package.json" }, /^--client-ca-file package.json: must hold certificates in PEM form: /],
  [{ serviceAccountSigningKeyFile: "package.json" }, /package.json: must hold a private key in PEM form: /],
  [{ maxRequestsInflight: "-1" }, /^--max-requests-inflight -1: must be a whole number from 0 to/],
  [
    { maxRequestsInflight: "0", maxMutatingRequestsInflight: "0" },
    /^--max-requests-inflight 0, --max-mutating-requests-inflight 0: must add up to more than 0/,
  ],
  [{ enablePriorityAndFairness: "maybe" }, /^--enable-priority-and-fairness maybe: /],
  [{ maxMutatingRequestsInflight: "a" }, /^--max-mutating-requests-inflight a: must be a whole number/],
  [
    { serviceAccountKeyFile: ["package.json"] },
    /^--service-account-key-file package.json: must hold keys in PEM/,
  ],
  [{ requestTimeout: "1x" }, /^--request-timeout 1x: must be a duration above 0, such as 1m30s$/],
  [{ advertiseAddress: "here" }, /^--advertise-address here: must be an IP address$/],
  [{ serviceClusterIpRange: "10.0.0.0" }, /^--service-cluster-ip-range 10.0.0.0: "10.0.0.0" must be a CIDR/],
  [{ serviceClusterIpRange: "10.0.0.0/30" }, /: must be a range of at least 8 IP addresses$/],
  [{ serviceClusterIpRange: "10.0.0.0/24,10.1.0.0/24" }, /: two ranges must be of different families$/],
  [{ serviceNodePortRange: "a-b" }, /^--service-node-port-range a-b: must be a range of ports, such as/],
  [{ serviceNodePortRange: "9-8" }, /: the last port must not be below the first$/],
  [{ serviceNodePortRange: "65000+1000" }, /: ports must be from 1 to 65535$/],
  [{ serviceAccountIssuer: ":a" }, /^--service-account-issuer :a: must be a URL, or a text without a colon$/],
  [{ serviceAccountJwksUri: "http://a" }, /^--service-account-jwks-uri http:\/\/a: must be a URL of https$/],
];
for (const [flags, message] of mistakes) {
  test(`refused: ${JSON.stringify(flags)}`, () =>
    assert.throws(() => upstreamOptions(flags), { name: "UsageError", message }));
}

test("ranges, keys and durations are read as kube-apiserver reads them", () =>
  inFolder(async (folder) => {
    const file = join(folder, "keys.pem");
    const pem = (): string =>
      String(
        generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }),
      );
    const keys = [pem(), pem()];
    writeFileSync(file, keys.join("\n"));
    const options = upstreamOptions({
      serviceAccountKeyFile: [file],
      serviceClusterIpRange: "10.96.0.0/16,fd00::/112",
      serviceNodePortRange: "30000+99",
      requestTimeout: "1m0.5s",
    });
    assert.deepEqual(
      options.serviceAccounts.verificationKeys,
      keys.map((key) => key.trim()),
    );
    assert.deepEqual(options.server.serviceRanges, ["10.96.0.0/16", "fd00::/112"]);
    assert.deepEqual(options.server.nodePorts, { first: 30_000, last: 30_099 });
    assert.equal(options.server.requestTimeout, 60_500);
  }));

test("kubelets are reached with the files and in the order that the flags name", () =>
  inFolder(async (folder) => {
    const now = Date.now();
    const authority = await createAuthority("kubelets", now);
    const own = await issueCertificate(authority, { commonName: "me", usages: ["client"] }, now);
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const { kubelet } = upstreamOptions({
      kubeletCertificateAuthority: file("ca", authority.certificate),
      kubeletClientCertificate: file("crt", own.certificate),
      kubeletClientKey: file("key", own.key),
      kubeletPreferredAddressTypes: "Hostname, InternalIP",
      kubeletTimeout: "5s",
    });
    const addressTypes = ["Hostname", "InternalIP"];
    assert.deepEqual(kubelet, { ...own, authority: authority.certificate, addressTypes });
    assert.deepEqual(upstreamOptions({}).kubelet, {});
  }));

test("a runtime configuration names stages, versions and resources that there are", () => {
  assert.deepEqual(
    runtimeConfigOption("api/all=true,v1,apps/v1=f,resource.k8s.io/v1beta1/resourceclaims=1"),
    {
      "api/all": true,
      v1: true,
      "apps/v1": false,
      "resource.k8s.io/v1beta1/resourceclaims": true,
    },
  );
  const refused = (text: string, message: RegExp): void =>
    assert.throws(() => runtimeConfigOption(text), { name: "UsageError", message });
  refused("api/all=maybe", /^--runtime-config api\/all maybe: must be true or false$/);
  refused("frob.io/v1", /^--runtime-config frob.io\/v1: must be one of api\/all, .*GROUP is one of .*apps/);
  refused("apps=true", /^--runtime-config apps: must be one of/);
  refused("apps/v7=true", /^--runtime-config apps\/v7: apps has no version v7: it has v1$/);
});

test("plugins that are on by default may be enabled by name, and any of upstream's disabled", () => {
  assert.deepEqual(admissionPluginOptions("Priority,NodeRestriction", "PodSecurity,AlwaysAdmit"), {
    enabledAdmissionPlugins: [],
    disabledAdmissionPlugins: ["PodSecurity", "AlwaysAdmit"],
  });
  assert.deepEqual(admissionPluginOptions("UniqueDeviceAllocation,Priority", ""), {
    enabledAdmissionPlugins: ["UniqueDeviceAllocation"],
    disabledAdmissionPlugins: [],
  });
});

test("a server with given files: tokens, client CA, serving certificate, issuer; no anonymous requests", () =>
  inFolder(async (folder) => {
    const now = Date.now();
    const other = await createAuthority("other", now);
    const serving = await issueCertificate(
      other,
      { commonName: "mine", ipAddresses: ["127.0.0.1"], usages: ["server"] },
      now,
    );
    const ann = await issueCertificate(other, { commonName: "ann", usages: ["client"] }, now);
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const kubeconfig = join(folder, "kubeconfig");
    const server = start([
      ...["apiserver", "--port", "0", "--data-dir", join(folder, "data"), "--kubeconfig", kubeconfig],
      ...[
        "--disable-admission-plugins",
        "ServiceAccount,NodeRestriction,PodSecurity",
        "--anonymous-auth=false",
      ],
      ...["--token-auth-file", file("tokens", 'secret,joe,u,"system:masters,x"\n')],
      ...["--client-ca-file", file("ca", other.certificate)],
      ...["--tls-cert-file", file("crt", `${serving.certificate}\n${other.certificate}`)],
      ...["--tls-private-key-file", file("key", serving.key)],
      ...["--service-account-issuer", "https://issuer.example"],
    ]);
    const ended = output(server);
    try {
      await new Promise((resolve) => server.stdout?.once("data", resolve));
      const { connection } = await loadKubeconfig({ file: kubeconfig });
      const whoami = async (identity: object): Promise<string> => {
        const { ca = "", server: url } = connection;
        const client = createClient({
          transport: httpsTransport({ server: url, ca, ...identity }),
          userAgent: "t/1",
        });
        const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
        const answer = await client
          .text("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { body })
          .finally(() => client.close());
        const { username, uid, groups } = JSON.parse(answer).status.userInfo;
        return `${username} ${uid} ${groups}`;
      };
      assert.equal(await whoami({ token: "secret" }), "joe u system:masters,x,system:authenticated");
      assert.match(await whoami({ cert: ann.certificate, key: ann.key }), /^ann .*system:authenticated$/);
      assert.match(await whoami(connection), /^kubernetes-admin /);
      await assert.rejects(whoami({}), { message: "Unauthorized" });
      const client = createClient({ transport: httpsTransport(connection), userAgent: "t/1" });
      const account = "/api/v1/namespaces/default/serviceaccounts";
      await client.text("POST", account, { body: { metadata: { name: "a" } } });
      const token = JSON.parse(
        await client.text("POST", `${account}/a/token`, {
          body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
        }),
      ).status.token as string;
      client.close();
      const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
      assert.equal(claims.iss, "https://issuer.example");
    } finally {
      server.kill("SIGTERM");
      await ended;
    }
  }));
