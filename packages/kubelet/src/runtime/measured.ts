import type { Clock } from "@dray/client";
import type { RuntimeService } from "./service.ts";

/**
 * Methods that are measured, by upstream's names of the operations.
 *
 * Upstream: pkg/kubelet/kuberuntime/instrumented_services.go.
 */
const operations: Readonly<Partial<Record<keyof RuntimeService, string>>> = {
  attach: "attach",
  createContainer: "create_container",
  exec: "exec",
  execSync: "exec_sync",
  listContainers: "list_containers",
  listContainerStats: "list_container_stats",
  listPodSandboxes: "list_podsandbox",
  portForward: "port_forward",
  removeContainer: "remove_container",
  removePodSandbox: "remove_podsandbox",
  rotateContainerLog: "reopen_container_log",
  runPodSandbox: "run_podsandbox",
  startContainer: "start_container",
  stopContainer: "stop_container",
  stopPodSandbox: "stop_podsandbox",
  updateContainerResources: "update_container",
  updatePodSandboxResources: "update_podsandbox_resources",
};

/** Called when an operation of the runtime has ended. */
export type RuntimeObserver = (operation: string, failed: boolean, milliseconds: number) => void;

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** Returns the runtime, with its operations measured. */
export function measuredRuntime(
  runtime: RuntimeService,
  clock: Pick<Clock, "now">,
  observe: RuntimeObserver,
): RuntimeService {
  const measured = new Map<PropertyKey, Method>(
    Object.entries(operations).map(([name, operation]) => {
      const method = async (...args: readonly unknown[]): Promise<unknown> => {
        const begun = clock.now();
        let failed = true;
        try {
          // The key is one of the operations.
          const result = await (runtime as unknown as Record<string, Method>)[name]!(...args);
          failed = false;
          return result;
        } finally {
          observe(operation, failed, Math.max(0, clock.now() - begun));
        }
      };
      return [name, method] as const;
    }),
  );
  return new Proxy(runtime, {
    get(target, name) {
      const method = measured.get(name);
      if (method !== undefined) return method;
      // Methods and getters of classes with private fields need the runtime itself.
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
