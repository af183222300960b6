// What the libstdc++ and libgcc of Debian 12 take from later releases of glibc, made of what glibc 2.34 has. scripts/portable links
// it into the portable program.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// glibc 2.36: std::random_device asks it.
uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) abort();
  }
  return value;
}

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* object, size_t size, void* data) {
  const struct search* const search = data;
  const ElfW(Phdr) * code = NULL;
  const ElfW(Phdr) * frames = NULL;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && search->address >= start && search->address - start < part->p_memsz) code = part;
    if (part->p_type == PT_GNU_EH_FRAME) frames = part;
  }
  if (code == NULL || frames == NULL) return 0;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)(object->dlpi_addr + code->p_vaddr);
  search->found->dlfo_map_end = (void*)(object->dlpi_addr + code->p_vaddr + code->p_memsz);
  search->found->dlfo_link_map = NULL;
  search->found->dlfo_eh_frame = (void*)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

// glibc 2.35: the unwinder asks it for the exception tables of the object that has this address, and for nothing else.
int _dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
