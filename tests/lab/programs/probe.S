/* SPDX-License-Identifier: MIT */
/* Probes of registers, see probe.h. */

#include "probe.h"

#define BEFORE(offset)	%fs:probe_before@tpoff + (offset)
#define AFTER(offset)	%fs:probe_after@tpoff + (offset)
#define GPR(number)	PROBE_GPR + 8 * (number)
#define KERNEL_FLAGS	0x202

	.section .note.GNU-stack, "", @progbits
	.text

/* Load everything but rsp. */
load:
	cmpl	$32, probe_width(%rip)
	je	2f
	jg	3f
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	BEFORE(PROBE_VECTOR + 64 * \n), %xmm\n
	.endr
	jmp	4f
2:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	BEFORE(PROBE_VECTOR + 64 * \n), %ymm\n
	.endr
	jmp	4f
3:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovups	BEFORE(PROBE_VECTOR + 64 * \n), %zmm\n
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	BEFORE(PROBE_K + 8 * \n), %k\n
	.endr
4:
	fninit
	.irp	n, 7, 6, 5, 4, 3, 2, 1, 0
	fldt	BEFORE(PROBE_ST + 16 * \n)
	.endr
	fldcw	BEFORE(PROBE_CW)
	ldmxcsr	BEFORE(PROBE_MXCSR)
	push	BEFORE(PROBE_FLAGS)
	popfq
	mov	BEFORE(GPR(0)), %rax
	mov	BEFORE(GPR(1)), %rcx
	mov	BEFORE(GPR(2)), %rdx
	mov	BEFORE(GPR(3)), %rbx
	mov	BEFORE(GPR(5)), %rbp
	mov	BEFORE(GPR(6)), %rsi
	mov	BEFORE(GPR(7)), %rdi
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	mov	BEFORE(GPR(\n)), %r\n
	.endr
	ret

store:
	mov	%rax, AFTER(GPR(0))
	mov	%rcx, AFTER(GPR(1))
	mov	%rdx, AFTER(GPR(2))
	mov	%rbx, AFTER(GPR(3))
	mov	%rsp, AFTER(GPR(4))
	mov	%rbp, AFTER(GPR(5))
	mov	%rsi, AFTER(GPR(6))
	mov	%rdi, AFTER(GPR(7))
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	mov	%r\n, AFTER(GPR(\n))
	.endr
	pushfq
	pop	AFTER(PROBE_FLAGS)
	push	$KERNEL_FLAGS
	popfq
	stmxcsr	AFTER(PROBE_MXCSR)
	fnstcw	AFTER(PROBE_CW)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	fstpt	AFTER(PROBE_ST + 16 * \n)
	.endr
	fninit
	cmpl	$32, probe_width(%rip)
	je	2f
	jg	3f
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	%xmm\n, AFTER(PROBE_VECTOR + 64 * \n)
	.endr
	jmp	4f
2:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	%ymm\n, AFTER(PROBE_VECTOR + 64 * \n)
	.endr
	vzeroupper
	jmp	4f
3:
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovups	%zmm\n, AFTER(PROBE_VECTOR + 64 * \n)
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovq	%k\n, AFTER(PROBE_K + 8 * \n)
	.endr
	vzeroupper
4:
	push	$0x1f80
	ldmxcsr	(%rsp)
	add	$8, %rsp
	ret

.macro begin name
	.globl	\name
	.type	\name, @function
\name:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	call	load
.endm

.macro end name
	call	store
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	\name, . - \name
.endm

/* cmp $-4095, %rax, in the form that glibc's compilers choose */
.macro compare
	.byte	0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff
.endm

begin probe_site
	syscall
	compare
end probe_site

begin probe_raw
	syscall
	.globl	probe_raw_after
probe_raw_after:
	nop
end probe_raw

begin probe_repeat
1:	mov	BEFORE(GPR(0)), %rax
	syscall
	compare
	subq	$1, %fs:probe_count@tpoff
	jne	1b
end probe_repeat

begin probe_repeat_raw
1:	mov	BEFORE(GPR(0)), %rax
	syscall
	subq	$1, %fs:probe_count@tpoff
	jne	1b
end probe_repeat_raw

begin probe_site_stack
	mov	%rsp, AFTER(GPR(4))
	mov	%fs:probe_stack@tpoff, %rsp
	syscall
	compare
	mov	%rsp, %fs:probe_stack@tpoff
	mov	AFTER(GPR(4)), %rsp
end probe_site_stack

begin probe_raw_stack
	mov	%rsp, AFTER(GPR(4))
	mov	%fs:probe_stack@tpoff, %rsp
	syscall
	mov	%rsp, %fs:probe_stack@tpoff
	mov	AFTER(GPR(4)), %rsp
end probe_raw_stack

begin probe_read
	mov	(%rbx), %rax
end probe_read

begin probe_write
	mov	%rcx, (%rbx)
end probe_write

begin probe_call
	call	*%rbx
end probe_call

begin probe_ud2
	ud2
end probe_ud2

begin probe_int3
	int3
	nop
end probe_int3

begin probe_hlt
	hlt
	nop
end probe_hlt

begin probe_divide
	/* by cl, two bytes long */
	div	%cl
end probe_divide

/* long probe_jump(long number, long value, long jump) */
	.globl	probe_jump
	.type	probe_jump, @function
probe_jump:
	mov	%rsi, %rax
	test	%rdx, %rdx
	jne	1f
	mov	%rdi, %rax
	syscall
1:	compare
	jb	2f
	mov	$-1, %rax
2:	ret
	.size	probe_jump, . - probe_jump
