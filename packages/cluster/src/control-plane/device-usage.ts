import type { Features } from "@dray/api";
import type { DeviceUsage } from "@dray/apiserver";

/**
 * Counters and capacity as the allocator adds them up, if the admission plugin UniqueDeviceAllocation is
 * enabled, which needs them.
 */
export async function deviceUsage(
  features: Features,
  newId: () => string,
  enabledAdmissionPlugins: readonly string[] = [],
): Promise<DeviceUsage | undefined> {
  if (!enabledAdmissionPlugins.includes("UniqueDeviceAllocation")) return undefined;
  const { allocatorFeatures, createAllocator, DeviceInUseError } = await import("@dray/allocator");
  const allocator = createAllocator({ features: allocatorFeatures(features), newId });
  return {
    update: (event) => allocator.update(event),
    reserve(claim, allocation) {
      try {
        const reservation = allocator.reserve([claim], [allocation]);
        return () => reservation.rollback();
      } catch (error) {
        if (error instanceof DeviceInUseError) return error.message;
        throw error;
      }
    },
  };
}
