import { Namespace, Node, ServiceAccount } from "@dray/api/core/v1";
import { eventually } from "@dray/testing/eventually";
import type { ControlPlane } from "./control-plane.ts";
import { type HollowNode, startHollowNode } from "./hollow-node.ts";
import type { Scenario, Stage } from "./scenario.ts";

/** How a scenario, or a step of a client program, has ended. */
export interface Outcome {
  readonly name: string;
  /** Text of the failure; undefined if the step passed. */
  readonly failure?: string;
  readonly seconds: number;
}

/** Starts nodes, and waits until the controllers have found them good. */
export async function startNodes({ admin, users }: ControlPlane, count: number): Promise<HollowNode[]> {
  const nodes: HollowNode[] = [];
  for (let index = 0; index < count; index++) nodes.push(await startHollowNode(users, index));
  await eventually("the nodes have no taints", async () => {
    const { items } = await admin.resource(Node).list();
    return items.every(({ spec }) => (spec.taints ?? []).length === 0);
  });
  return nodes;
}

/** Plays the scenarios, `jobs` of them at a time, and tells of each when it has ended. */
export async function play(
  { admin, users }: ControlPlane,
  nodes: readonly HollowNode[],
  scenarios: readonly Scenario[],
  { jobs, round, ended }: { jobs: number; round: number; ended: (outcome: Outcome) => void },
): Promise<Outcome[]> {
  const waiting = scenarios.map((scenario, index) => ({ scenario, unique: `interop-${round}-${index}` }));
  const outcomes: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { scenario, unique } = next;
      const start = performance.now();
      const failure = await act(scenario, { admin, users, nodes, namespace: `${unique}-ns`, unique });
      const seconds = (performance.now() - start) / 1000;
      const outcome = { name: scenario.name, seconds, ...(failure === undefined ? {} : { failure }) };
      outcomes.push(outcome);
      ended(outcome);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return outcomes.sort((a, b) => place(scenarios, a) - place(scenarios, b));
}

const place = (scenarios: readonly Scenario[], { name }: Outcome): number =>
  scenarios.findIndex((scenario) => scenario.name === name);

/** Plays one scenario in a new namespace; answers what went wrong. */
async function act(scenario: Scenario, stage: Stage): Promise<string | undefined> {
  const { admin, namespace } = stage;
  try {
    await admin.resource(Namespace).create({ metadata: { name: namespace }, spec: {} });
    await eventually("the namespace has its service account", () =>
      admin.resource(ServiceAccount).get({ namespace, name: "default" }),
    );
    await scenario.run(stage);
    await admin.resource(Namespace).delete({ name: namespace });
    await eventually("the namespace is gone", async () => {
      return !(await admin.resource(Namespace).list()).items.some(
        ({ metadata }) => metadata.name === namespace,
      );
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
