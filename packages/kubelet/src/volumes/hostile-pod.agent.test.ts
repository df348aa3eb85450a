import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ConfigMap, Pod, type PodSpec, ServiceAccount } from "@dray/api/core/v1";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { writeFiles } from "./volume-files.ts";

/** Pods that try to read or change files of others. */
for (const isolation of ["auto", "plain"] as const)
  describe(`a pod that leads out of what it has, with isolation ${isolation}`, () => {
    const suite = createSuite(isolation);
    for (const declare of [subPathTests, terminationMessageTests, filePathTests]) declare(suite);
  });

/** A node that runs during the tests of one isolation. */
type Suite = ReturnType<typeof createSuite>;

function createSuite(isolation: "auto" | "plain") {
  let cluster: TestCluster;
  /** A folder of the machine that no pod may reach. */
  const outside = mkdtempSync("/tmp/dray-outside-");
  before(async () => {
    cluster = await testCluster();
    writeFileSync(join(outside, "secret"), "hidden\n");
    await cluster.admin
      .resource(ServiceAccount)
      .create({ metadata: { namespace: "default", name: "default" } });
    await cluster.node("n1", { isolation });
  });
  after(async () => {
    await cluster.close();
    rmSync(outside, { recursive: true, force: true });
  });

  const run = async (
    name: string,
    spec: Parameters<typeof podOn>[2],
    wanted: (pod: Pod) => boolean,
  ): Promise<Pod> => {
    await cluster.admin.resource(Pod).create(podOn("n1", name, { restartPolicy: "Never", ...spec }));
    return podBecomes(cluster.admin, { namespace: "default", name }, wanted);
  };
  const untouched = (): void => {
    assert.deepEqual(readdirSync(outside), ["secret"]);
    assert.equal(readFileSync(join(outside, "secret"), "utf8"), "hidden\n");
  };
  return { cluster: () => cluster, outside, run, untouched };
}

const waiting = ({ status }: Pod): string => status?.containerStatuses?.[0]?.state?.waiting?.message ?? "";

function subPathTests({ outside, run, untouched }: Suite): void {
  for (const [what, link] of [
    ["an absolute link", () => outside],
    ["a relative link", () => `${"../".repeat(12)}${outside.slice(1)}`],
    ["a link to a folder that is still to be made", () => join(outside, "made")],
    ["the root", () => "/"],
  ] as const)
    test(`by subPath and ${what} in its emptyDir`, async () => {
      const name = `link-${what.replaceAll(" ", "-")}`;
      const volumeMounts = [{ name: "data", mountPath: "/data-of-hostile" }];
      const pod = await run(
        name,
        {
          volumes: [{ name: "data", emptyDir: {} }],
          initContainers: [
            {
              name: "prepare",
              command: ["sh", "-c", 'ln -s "$1" "$0/evil"', "/data-of-hostile", link()],
              volumeMounts,
            },
          ],
          containers: [
            {
              name: "main",
              command: ["sh", "-c", 'cat "$0"/secret >&2; echo x >"$0"/new', "/inside-of-hostile"],
              env: [{ name: "WHERE", value: "evil" }],
              volumeMounts: [{ name: "data", mountPath: "/inside-of-hostile", subPathExpr: "$(WHERE)" }],
            },
          ],
        },
        (one) =>
          waiting(one) !== "" &&
          one.status?.initContainerStatuses?.[0]?.state?.terminated !== undefined &&
          !/PodInitializing/.test(one.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ""),
      );
      assert.equal(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason, "CreateContainerConfigError");
      assert.match(
        waiting(pod),
        /^failed to prepare subPath for volumeMount "data" of container "main": subPath "evil" leads out of the volume$/,
      );
      untouched();
    });
}

function terminationMessageTests({ outside, run, untouched }: Suite): void {
  test("by a link in place of its termination message", async () => {
    const pod = await run(
      "last-word",
      {
        containers: [
          {
            name: "main",
            terminationMessagePath: "/last-word-of-hostile",
            command: [
              "sh",
              "-c",
              'rm -f "$0"; ln -sf "$1" "$0"; cp -f "$1" "$0.copy"; exit 3',
              "/last-word-of-hostile",
              join(outside, "secret"),
            ],
          },
        ],
      },
      ({ status }) => status?.phase === "Failed",
    );
    assert.doesNotMatch(JSON.stringify(pod.status), /hidden/);
    untouched();
  });

  test("by a path of its termination message that climbs out of its root", async () => {
    const path = `/..${outside}/../../../..${outside}/secret`;
    const pod = await run(
      "climbing-word",
      { containers: [{ name: "main", terminationMessagePath: path, command: ["sh", "-c", "exit 3"] }] },
      ({ status }) =>
        status?.phase === "Failed" ||
        status?.containerStatuses?.[0]?.state?.waiting?.reason?.endsWith("Error") === true,
    );
    assert.doesNotMatch(JSON.stringify(pod.status), /hidden/);
    untouched();
  });
}

function filePathTests({ cluster, outside, untouched }: Suite): void {
  test("by keys and paths of a config map, which the API server refuses", async () => {
    const maps = cluster().admin.resource(ConfigMap);
    for (const key of ["../x", "..", "a/b", "..data"])
      await assert.rejects(
        maps.create({ metadata: { namespace: "default", name: "keys" }, data: { [key]: "x" } }),
        /Invalid value/,
        key,
      );
    await maps.create({ metadata: { namespace: "default", name: "map" }, data: { a: "x" } });
    const refused = (spec: Partial<PodSpec>): Promise<void> =>
      assert.rejects(
        cluster()
          .admin.resource(Pod)
          .create(podOn("n1", "map", { containers: [{ name: "main", command: ["true"] }], ...spec })),
        /must not contain|must not start with|must be a relative path|Invalid value/,
      );
    for (const path of ["../x", "/x", "a/../../x", "..data"])
      await refused({ volumes: [{ name: "m", configMap: { name: "map", items: [{ key: "a", path }] } }] });
    for (const subPath of ["../x", "/x", "a/../../x"])
      await refused({
        volumes: [{ name: "m", emptyDir: {} }],
        containers: [
          { name: "main", command: ["true"], volumeMounts: [{ name: "m", mountPath: "/m", subPath }] },
        ],
      });
    await refused({ volumes: [{ name: "h", hostPath: { path: "/var/lib/../../etc" } }] });
  });

  test("by paths of files that no API server has looked at", async () => {
    const volume = join(outside, "volume");
    try {
      for (const path of ["../x", "/x", "a/../../x", "..", "..data", "..1/x", "a//b", "./a", ""])
        await assert.rejects(
          writeFiles(volume, [{ path, content: Buffer.from("x"), mode: 0o644 }]),
          /^Error: path /,
          path,
        );
      assert.equal(existsSync(volume), false);
    } finally {
      rmSync(volume, { recursive: true, force: true });
    }
    untouched();
  });
}
