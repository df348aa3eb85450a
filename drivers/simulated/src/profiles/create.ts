import type { ProfileChoice } from "../fleet/profile-choice.ts";
import { fpga } from "./fpga.ts";
import { partitions } from "./partitions.ts";
import type { Profile, ProfileContext } from "./profile.ts";
import { sriov } from "./sriov.ts";

const basic: Profile = {
  async prepare() {
    return {};
  },
  // There is nothing that a device would have to be freed of.
  async unprepare() {},
};

/** The profile that a driver of the fleet has chosen. */
export function createProfile(choice: ProfileChoice, context: ProfileContext): Profile {
  switch (choice.name) {
    case "basic":
      return basic;
    case "fpga":
      return fpga(choice, context);
    case "sriov":
      return sriov(choice, context);
    case "partitions":
      return partitions(choice, context);
  }
}
