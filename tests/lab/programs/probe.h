/* SPDX-License-Identifier: MIT */
#ifndef PROBE_H
#define PROBE_H

/*
 * Registers before and after something that must not change them. A probe
 * (probe.S) loads all registers of probe_before, does what its name says, and
 * stores them in probe_after.
 */

/* Numbers as in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, ... */
#define PROBE_GPR	0
#define PROBE_FLAGS	128
#define PROBE_MXCSR	136
#define PROBE_CW	140
#define PROBE_K		144
#define PROBE_ST	208
#define PROBE_VECTOR	384
#define PROBE_SIZE	(PROBE_VECTOR + 32 * 64)

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

struct registers {
	uint64_t gpr[16];
	uint64_t flags;
	uint32_t mxcsr;
	uint16_t cw, unused;
	uint64_t k[8];
	uint8_t st[8][16];
	uint8_t fill[48];
	uint8_t vector[32][64];
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct registers, vector) == PROBE_VECTOR, "probe.S counts on this");
_Static_assert(offsetof(struct registers, st) == PROBE_ST, "probe.S counts on this");

extern __thread struct registers probe_before, probe_after;
/* How often a probe repeats its system call. */
extern __thread uint64_t probe_count;
extern __thread uint64_t probe_stack;
/* The widest vectors of this CPU in bytes: 16, 32, 64. */
extern int probe_width;

/* A system call that is followed by a comparison, as in glibc. */
void probe_site(void);
/* A system call that is followed by something else; what must be in rcx. */
void probe_raw(void);
extern const char probe_raw_after[];
/* probe_count system calls of number rax */
void probe_repeat(void);
void probe_repeat_raw(void);
/* As above, with a stack pointer of probe_stack. */
void probe_site_stack(void);
void probe_raw_stack(void);
/* Accesses to the address in rbx */
void probe_read(void);
void probe_write(void);
void probe_call(void);
/* Exceptions; the handler has to skip the instruction. */
void probe_ud2(void);
void probe_int3(void);
void probe_hlt(void);
void probe_divide(void);

/* The system call @number, or if @jump the comparison behind it alone, of @value. */
long probe_jump(long number, long value, long jump);

#endif
#endif
