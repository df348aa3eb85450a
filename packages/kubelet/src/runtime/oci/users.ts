import type { SecurityConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";

/** User and groups of a container's program, as numbers. */
export interface ResolvedUser {
  readonly uid: number;
  readonly gid: number;
  readonly additionalGids: readonly number[];
}

/** Files of an image with users and groups; empty if they are missing. */
export interface UserFiles {
  readonly passwd: string;
  readonly group: string;
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Maximum number of a user in Linux. */
const maxId = 2 ** 32 - 2;

/**
 * Resolves the user of a program: the pod's, else the image's (`USER[:GROUP]`), else root. Groups that the
 * image gives the user are added to those of the pod (SupplementalGroupsPolicy Merge). Throws a RuntimeError
 * (`CreateContainerError`) for a name that the image lacks.
 *
 * Upstream: containerd, oci.WithUser, WithUserID and WithAdditionalGIDs.
 */
export function resolveUser(security: SecurityConfig, imageUser: string, files: UserFiles): ResolvedUser {
  const [imageName = "", imageGroup = ""] = imageUser.split(":");
  const { runAsUser, runAsUserName, runAsGroup, supplementalGroups } = security;
  const own = runAsUser !== undefined || (runAsUserName ?? "") !== "";
  const wanted = runAsUser !== undefined ? String(runAsUser) : runAsUserName || imageName || "0";
  const accounts = readPasswd(files.passwd);
  const groups = readGroups(files.group);
  const account = accounts.find(({ name, uid }) => name === wanted || String(uid) === wanted);
  const uid = account?.uid ?? idOf(wanted);
  if (uid === undefined)
    throw new RuntimeError(
      "CreateContainerError",
      `the image has no user ${JSON.stringify(wanted)} in /etc/passwd; expected a name from there or a number`,
    );
  let gid = account?.gid ?? 0;
  if (runAsGroup !== undefined) gid = runAsGroup;
  else if (!own && imageGroup !== "") {
    const found = groups.find(({ name }) => name === imageGroup)?.gid ?? idOf(imageGroup);
    if (found === undefined)
      throw new RuntimeError(
        "CreateContainerError",
        `the image has no group ${JSON.stringify(imageGroup)} in /etc/group; expected a name from there or a number`,
      );
    gid = found;
  }
  const member = groups.filter(({ members }) => account !== undefined && members.includes(account.name));
  return {
    uid,
    gid,
    additionalGids: [...new Set([gid, ...member.map((one) => one.gid), ...supplementalGroups])],
  };
}

function idOf(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) <= maxId ? Number(text) : undefined;
}

/** passwd(5). Damaged lines are skipped, as everywhere. */
function readPasswd(text: string): readonly Account[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , uidText = "", gidText = ""] = line.split(":");
    const [uid, gid] = [idOf(uidText), idOf(gidText)];
    return name === "" || uid === undefined || gid === undefined ? [] : [{ name, uid, gid }];
  });
}

/** group(5) */
function readGroups(text: string): readonly { name: string; gid: number; members: readonly string[] }[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , gidText = "", members = ""] = line.trim().split(":");
    const gid = idOf(gidText);
    return name === "" || gid === undefined ? [] : [{ name, gid, members: members.split(",") }];
  });
}
