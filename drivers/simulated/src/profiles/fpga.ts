import { join } from "node:path";
import { sleep } from "@dray/client";
import type { DeviceConfig } from "@dray/driver";
import type { ProfileChoice } from "../fleet/profile-choice.ts";
import { FleetError, shown, Value } from "../source/value.ts";
import type { Profile, ProfileContext } from "./profile.ts";
import { DeviceFiles } from "./state.ts";

/** The image that a simulated FPGA holds. */
interface FpgaState {
  readonly pool: string;
  readonly device: string;
  readonly image: string;
  readonly state: "Programming" | "Loaded";
  /** RFC 3339: when the state began. */
  readonly since: string;
  /** UID of the claim that it was programmed for. */
  readonly claim?: string;
}

const apiVersion = "fpga.dray.dev/v1alpha1";

/**
 * A card that a claim programs: `FpgaConfig` (`fpga.dray.dev/v1alpha1`) names the bitstream, loading takes
 * its time, and at unprepare the idle image comes back. A call that ends before the card is programmed leaves
 * it at work: the next one waits for the rest.
 */
export function fpga(
  { programTime, idleImage, bitstreams }: Extract<ProfileChoice, { name: "fpga" }>,
  { folder, clock, log }: ProfileContext,
): Profile {
  const files = new DeviceFiles<FpgaState>(join(folder, "fpga"));

  const load = async (
    { pool, device, image, claim }: Pick<FpgaState, "pool" | "device" | "image"> & { readonly claim: string },
    signal: AbortSignal,
  ) => {
    let known = await files.read(pool, device);
    if (known?.image !== image || known.claim !== claim) {
      const since = new Date(clock.now()).toISOString();
      known = { pool, device, image, claim, state: "Programming", since };
      await files.write(known);
      log.info({ device: `${pool}/${device}`, image }, "Programming");
    }
    if (known.state === "Loaded") return;
    await sleep(clock, Math.max(0, Date.parse(known.since) + programTime - clock.now()), signal);
    if (signal.aborted) throw new Error(`device ${pool}/${device} is still being programmed with ${image}`);
    await files.write({ ...known, state: "Loaded", since: new Date(clock.now()).toISOString() });
  };

  return {
    async prepare(claim, { allocated, prefix }, signal) {
      const { pool, device } = allocated.result;
      // All are decoded, so that a mistake shows even where a later configuration wins.
      const image = allocated.configs.map((config) => bitstreamOf(config, bitstreams)).at(-1) ?? idleImage;
      if (image !== idleImage) await load({ pool, device, image, claim: claim.uid }, signal);
      return { env: [`${prefix}_BITSTREAM=${image}`] };
    },
    async unprepare(_, { allocated }) {
      const { pool, device } = allocated.result;
      const known = await files.read(pool, device);
      if (known === undefined || (known.image === idleImage && known.state === "Loaded")) return;
      const since = new Date(clock.now()).toISOString();
      await files.write({ pool, device, image: idleImage, state: "Loaded", since });
      log.info({ device: `${pool}/${device}`, image: idleImage }, "Loaded the idle image");
    },
  };
}

/** Throws an error that names the field, its value and what would be accepted; unknown fields are errors. */
function bitstreamOf({ parameters }: DeviceConfig, known: readonly string[] | undefined): string {
  const value = new Value({ file: "FpgaConfig", lineOf: () => undefined }, "", parameters);
  try {
    const config = value.fields(["apiVersion", "kind", "bitstream"]);
    config.apiVersion.oneOf([apiVersion]);
    config.kind.oneOf(["FpgaConfig"]);
    if (known !== undefined) return config.bitstream.oneOf(known);
    return config.bitstream.text("the name of a bitstream");
  } catch (error) {
    if (error instanceof FleetError) throw new Error(error.message);
    throw new Error(`FpgaConfig: ${shown(parameters)}: ${(error as Error).message}`);
  }
}
