// Finds functions behind those of this library, as dlsym(RTLD_NEXT) does. glibc before 2.34 has dlsym in a
// library of its own, which most programs do not load.
#define _GNU_SOURCE
#include "base.h"
#include <elf.h>
#include <link.h>

struct search {
  const char *name;
  int passed; // this library was met
  void *found;
};

static u32 gnu_hash(const char *name) {
  u32 hash = 5381;
  for (; *name; name++) hash = hash * 33 + (u8)*name;
  return hash;
}

static int same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

struct tables {
  const ElfW(Sym) * symbols;
  const char *strings;
  const u32 *gnu;
  const u32 *sysv;
  const u16 *versions;
};

static void *defined(const struct tables *in, u32 index, const char *name, ElfW(Addr) base) {
  const ElfW(Sym) *symbol = &in->symbols[index];
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0) return 0;
  if ((symbol->st_info & 15) != STT_FUNC && (symbol->st_info & 15) != STT_NOTYPE) return 0;
  // Hidden: an old version of a function, for programs that were linked with it.
  if (in->versions && in->versions[index] & 0x8000) return 0;
  return same(in->strings + symbol->st_name, name) ? (void *)(base + symbol->st_value) : 0;
}

static void *find(const struct tables *in, const char *name, ElfW(Addr) base) {
  void *found = 0;
  if (in->gnu) {
    u32 buckets = in->gnu[0], first = in->gnu[1], words = in->gnu[2], hash = gnu_hash(name);
    const u32 *bucket = in->gnu + 4 + words * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
    u32 index = buckets ? bucket[hash % buckets] : 0;
    if (index < first) return 0;
    for (;; index++) {
      u32 value = chain[index - first];
      if ((value | 1) == (hash | 1) && (found = defined(in, index, name, base))) return found;
      if (value & 1) return 0;
    }
  }
  if (in->sysv)
    for (u32 index = 1; index < in->sysv[1]; index++)
      if ((found = defined(in, index, name, base))) return found;
  return 0;
}

static int visit(struct dl_phdr_info *object, size length, void *data) {
  struct search *search = data;
  const ElfW(Dyn) *dynamic = 0;
  ElfW(Addr) base = object->dlpi_addr, here = (ElfW(Addr))&visit, offset = 0;
  int ours = 0;
  (void)length;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &object->dlpi_phdr[i];
    if (header->p_type == PT_DYNAMIC) dynamic = (void *)(base + header->p_vaddr);
    if (header->p_type == PT_LOAD && here - base - header->p_vaddr < header->p_memsz) ours = 1;
  }
  if (ours) {
    search->passed = 1;
    return 0;
  }
  if (!search->passed || !dynamic) return 0;
  struct tables in = {0, 0, 0, 0, 0};
  for (; dynamic->d_tag != DT_NULL; dynamic++) {
    // glibc has made addresses of these, musl and the vDSO have not.
    ElfW(Addr) value = dynamic->d_un.d_ptr;
    offset = value < base ? value + base : value;
    if (dynamic->d_tag == DT_SYMTAB) in.symbols = (void *)offset;
    if (dynamic->d_tag == DT_STRTAB) in.strings = (void *)offset;
    if (dynamic->d_tag == DT_GNU_HASH) in.gnu = (void *)offset;
    if (dynamic->d_tag == DT_HASH) in.sysv = (void *)offset;
    if (dynamic->d_tag == DT_VERSYM) in.versions = (void *)offset;
  }
  if (!in.symbols || !in.strings) return 0;
  search->found = find(&in, search->name, base);
  return search->found != 0;
}

void *next_symbol(const char *name, void **cache) {
  if (!*cache) {
    struct search search = {name, 0, 0};
    dl_iterate_phdr(visit, &search);
    *cache = search.found;
  }
  return *cache;
}
