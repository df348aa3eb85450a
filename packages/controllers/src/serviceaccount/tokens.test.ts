import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenReview } from "@dray/api/authentication/v1";
import { Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import { createSigningKey } from "@dray/apiserver/pki";
import {
  type ControllerContext,
  startLegacyTokenCleaner,
  startTokenSecretController,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const key = await createSigningKey();

const day = 24 * 60 * 60_000;

const startTokens = (context: ControllerContext): Promise<unknown> =>
  startTokenSecretController(context, { key, rootCA: "PEM" });

const text = (secret: Secret | undefined, name: string): string =>
  Buffer.from(secret?.data?.[name] ?? "", "base64").toString();

const tokenSecret = (name: string, account: string, more: object = {}): object => ({
  metadata: { name, annotations: { "kubernetes.io/service-account.name": account }, ...more },
  type: "kubernetes.io/service-account-token",
});

const filled = (cluster: TestCluster, name: string): Promise<Secret> =>
  cluster.until(`token in ${name}`, async () => {
    const secret = await cluster.get(Secret, name);
    return text(secret, "token") !== "" && secret;
  });

test("a Secret for a service account gets a token that the API server believes, until the account is gone", () =>
  withCluster(
    startTokens,
    async (cluster) => {
      const account = await cluster.create(ServiceAccount, { metadata: { name: "robot" } });
      await cluster.create(Secret, tokenSecret("robot-token", "robot"));
      const secret = await filled(cluster, "robot-token");
      assert.equal(text(secret, "namespace"), "d");
      assert.equal(text(secret, "ca.crt"), "PEM");
      assert.equal(secret.metadata.annotations?.["kubernetes.io/service-account.uid"], account.metadata.uid);
      const review = async (): Promise<TokenReview> =>
        cluster.client.resource(TokenReview).create({ metadata: {}, spec: { token: text(secret, "token") } });
      const { status } = await review();
      assert.equal(status?.authenticated, true, JSON.stringify(status));
      assert.equal(status?.user?.username, "system:serviceaccount:d:robot");

      const ref = { namespace: "d", name: "robot" };
      await cluster.client
        .resource(ServiceAccount)
        .patch(ref, "merge", { secrets: [{ name: "robot-token" }, { name: "gone" }] });
      await cluster.client.resource(Secret).delete({ namespace: "d", name: "robot-token" });
      await cluster.until(
        "the account names neither",
        async () => (await cluster.get(ServiceAccount, "robot")).secrets === undefined,
      );
      assert.notEqual((await review()).status?.authenticated, true);

      await cluster.create(Secret, tokenSecret("second", "robot"));
      await filled(cluster, "second");
      await cluster.client.resource(ServiceAccount).delete(ref);
      await cluster.until(
        "the secret is gone",
        async () => (await cluster.find(Secret, "second")) === undefined,
      );
    },
    { serviceAccounts: { key } },
  ));

test("tokens: a restart deletes Secrets of accounts that were deleted meanwhile, and only those", () =>
  withCluster(startTokens, async (cluster) => {
    await cluster.create(ServiceAccount, { metadata: { name: "robot" } });
    await cluster.create(Secret, tokenSecret("t", "robot"));
    const before = await filled(cluster, "t");
    await cluster.create(Secret, { metadata: { name: "own" }, data: { a: "Yg==" } });
    await cluster.restart(async () => {
      await cluster.client.resource(ServiceAccount).delete({ namespace: "d", name: "robot" });
      // Another one under the same name.
      await cluster.create(ServiceAccount, { metadata: { name: "robot" } });
    }, startTokens as never);
    await cluster.until("gone", async () => (await cluster.find(Secret, "t")) === undefined);
    assert.ok(before && (await cluster.find(Secret, "own")));
  }));

test("legacy tokens: unused ones are invalid after a year and deleted a year later", () =>
  withCluster(startLegacyTokenCleaner, async (cluster) => {
    await cluster.create(ServiceAccount, {
      metadata: { name: "old" },
      secrets: [{ name: "unused" }, { name: "used" }, { name: "mounted" }],
    });
    for (const name of ["unused", "used", "mounted", "manual"])
      await cluster.create(Secret, tokenSecret(name, "old"));
    await cluster.create(Pod, {
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "v", secret: { secretName: "mounted" } }],
      },
    });
    const label = async (name: string): Promise<string | undefined> =>
      (await cluster.get(Secret, name)).metadata.labels?.["kubernetes.io/legacy-token-invalid-since"];
    // Timers run on the last day only: the server has some that are due every ten seconds.
    const pass = async (days: number): Promise<void> => {
      cluster.clock.set(cluster.clock.now() + (days - 1) * day);
      cluster.clock.advance(day);
      await cluster.settle();
    };
    await pass(365);
    assert.equal(await label("unused"), undefined, "tracking began less than a year ago");
    const today = new Date(cluster.clock.now()).toISOString().slice(0, 10);
    await cluster.client.resource(Secret).patch({ namespace: "d", name: "used" }, "merge", {
      metadata: { labels: { "kubernetes.io/legacy-token-last-used": today } },
    });
    await pass(2);
    await cluster.until("marked", async () => (await label("unused")) !== undefined);
    for (const name of ["used", "mounted", "manual"]) assert.equal(await label(name), undefined, name);
    await pass(360);
    assert.ok(await cluster.find(Secret, "unused"));
    await pass(10);
    await cluster.until("deleted", async () => (await cluster.find(Secret, "unused")) === undefined);
  }));
