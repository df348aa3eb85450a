import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { holdsFor } from "@dray/testing/eventually";
import { etcdStore, type Store } from "../index.ts";
import { storeConformance } from "../testing/conformance.ts";
import { TestEtcd, withoutEtcd } from "../testing/etcd.ts";

if (withoutEtcd !== undefined) {
  test("etcd: store", { skip: withoutEtcd }, () => {});
} else {
  const etcd = new TestEtcd();
  let stores = 0;
  const open = (clock = fakeClock()): Store =>
    etcdStore({ endpoints: [etcd.url], prefix: `/test-${++stores}` }, clock);
  before(() => etcd.start());
  after(() => etcd.remove());

  storeConformance("etcd", open, { ownTime: true });

  test("etcd: clusters with prefixes of their own do not see each other", async () => {
    const one = open();
    const other = open();
    const { revision } = await one.txn([], [{ type: "put", key: "/a", value: "1" }]);
    await other.txn([], [{ type: "put", key: "/a", value: "2" }]);
    assert.equal((await one.get("/a"))?.value, "1");
    assert.equal(await one.count("/"), 1);
    for await (const events of other.watch("/", revision - 1, new AbortController().signal)) {
      assert.deepEqual(
        events.map(({ key, value }) => [key, value]),
        [["/a", "2"]],
      );
      break;
    }
    await one.close();
    await other.close();
  });

  test("etcd: skips an endpoint that refuses connections", async () => {
    const store = etcdStore({ endpoints: ["http://127.0.0.1:1", etcd.url] }, fakeClock());
    assert.ok((await store.txn([], [{ type: "put", key: "/two/a", value: "1" }])).succeeded);
    await store.close();
  });

  test("etcd: after a crash of etcd calls go on and a watch continues behind its last batch", async () => {
    const store = open();
    const { revision } = await store.txn([], [{ type: "put", key: "/a", value: "1" }]);
    const first = store.watch("/", revision, new AbortController().signal)[Symbol.asyncIterator]();
    const failing = assert.rejects(async () => await first.next());
    await store.revision();
    await etcd.signal("SIGKILL");
    await failing;
    const waiting = store.txn([], [{ type: "put", key: "/a", value: "2" }]);
    await etcd.start();
    assert.ok((await waiting).succeeded);
    for await (const events of store.watch("/", revision, new AbortController().signal)) {
      assert.deepEqual(
        events.map(({ value, previous }) => [value, previous?.value]),
        [["2", "1"]],
      );
      break;
    }
    await store.close();
  });

  test("etcd: entries that are written soon after each other share a lease", async () => {
    const clock = fakeClock();
    const store = open(clock);
    const leases = async (): Promise<number> => {
      const answer = await fetch(`${etcd.url}/v3/lease/leases`, { method: "POST", body: "{}" });
      return ((await answer.json()) as { leases?: unknown[] }).leases?.length ?? 0;
    };
    const before = await leases();
    for (let i = 0; i < 20; i++)
      await store.txn([], [{ type: "put", key: `/e/${i}`, value: "x", ttl: 3600 }]);
    assert.equal(await leases(), before + 1);
    clock.advance(120_000);
    await store.txn([], [{ type: "put", key: "/e/later", value: "x", ttl: 3600 }]);
    assert.equal(await leases(), before + 2);
    await store.close();
  });

  const withoutCertificates =
    spawnSync("openssl", ["version"]).status === 0
      ? false
      : "etcd with certificates needs openssl, which is not on the PATH";
  test("etcd: by TLS both sides show certificates", { skip: withoutCertificates }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "dray-etcd-tls-"));
    const file = (name: string): string => join(folder, name);
    const openssl = (line: string): void =>
      void execFileSync("openssl", line.split(" "), { cwd: folder, stdio: "ignore" });
    const newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for (const authority of ["ca", "other"]) {
      openssl(
        `req -x509 ${newKey} -keyout ${authority}.key -out ${authority}.crt -days 2 -subj /CN=${authority}`,
      );
    }
    writeFileSync(file("names"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n");
    openssl(`req ${newKey} -keyout pair.key -out pair.csr -subj /CN=pair`);
    openssl(
      "x509 -req -in pair.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out pair.crt",
    );
    const secure = new TestEtcd({
      authority: file("ca.crt"),
      certificate: file("pair.crt"),
      key: file("pair.key"),
    });
    await secure.start();
    try {
      const pair = { certificate: readFileSync(file("pair.crt")), key: readFileSync(file("pair.key")) };
      const connect = (authority: string): Store =>
        etcdStore(
          { endpoints: [secure.url], authority: readFileSync(file(authority)), ...pair },
          fakeClock(),
        );
      const store = connect("ca.crt");
      assert.ok((await store.txn([], [{ type: "put", key: "/a", value: "1" }])).succeeded);
      await store.close();
      const deceived = connect("other.crt");
      let isRefused = false;
      const refused = assert.rejects(deceived.revision(), /closed/).then(() => {
        isRefused = true;
      });
      await holdsFor("it waits for the server", () => !isRefused, 1_000);
      await deceived.close();
      await refused;
    } finally {
      await secure.remove();
      rmSync(folder, { recursive: true });
    }
  });
}
