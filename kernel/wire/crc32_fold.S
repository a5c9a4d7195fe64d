/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32_fold.S - CRC-32 (IEEE 802.3, bits reflected) by carry-less multiplication, in
 * registers of 128, 256 and 512 bits.
 *
 * Called by wire/crc32_x86.c. Touches only its arguments and vector registers; the caller
 * owns those.
 *
 * A message is a polynomial over GF(2) whose first bit is the highest coefficient. The
 * CRC-32 of it is message * x^32 mod P. A register of 16 bytes that stands D bits before
 * the bytes that follow can be moved onto them ("folded"): with its first 8 bytes A and
 * its last 8 bytes B it is A * x^(D + 64) + B * x^D, and each power may be reduced mod P,
 * because only the remainder counts. So two multiplications take the register to any place
 * behind it. (V. Gopal and others, Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction, Intel 2009.)
 *
 * Bits are reflected: the lowest bit of a register is the highest coefficient. The product
 * of two reflected numbers is one bit short of being aligned, which is one power of x;
 * all constants have one power less for that.
 */
#include <linux/linkage.h>

/* P without x^32, the coefficient of x^i in bit 31 - i. */
#define POLYNOMIAL 0xedb88320
/* P with x^32, the coefficient of x^i in bit 32 - i. */
#define WHOLE_POLYNOMIAL ((POLYNOMIAL << 1) | 1)

/* Set \name to x^\n mod P, the coefficient of x^i in bit 31 - i. */
.macro set_power name, n
	.set \name, 0x80000000
	.rept \n
	.set \name, (\name >> 1) ^ (POLYNOMIAL * (\name & 1))
	.endr
.endm

/* Set \name to the quotient of x^95 by P, the coefficient of x^i in bit 63 - i. */
.macro set_quotient name
	.set \name, 0
	.set .Lplace, 0
	.set .Lrest, 1 /* x^31 */
	.rept 64
	.set \name, \name | ((.Lrest & 1) << .Lplace)
	.set .Lrest, (.Lrest >> 1) ^ (POLYNOMIAL * (.Lrest & 1))
	.set .Lplace, .Lplace + 1
	.endr
.endm

/* The two factors that move a register by \bytes: that of its first 8, that of its last. */
.macro factors bytes
	set_power .Lfirst, (8 * \bytes + 63)
	set_power .Llast, (8 * \bytes - 1)
	.quad .Lfirst << 32, .Llast << 32
.endm

.section .rodata, "a", @progbits
.balign 64
/* In this order, because a register takes its factors by lane. */
.Lby_48:	factors 48
.Lby_32:	factors 32
.Lby_16:	factors 16
.Lby_0:
	set_power .Lfirst, 63
	/* x^-1 mod P: (P + 1) / x */
	.quad .Lfirst << 32, (WHOLE_POLYNOMIAL & 0xffffffff) << 32
.Lby_64:	factors 64
.Lby_96:	factors 96
.Lby_128:	factors 128
.Lby_192:	factors 192
.Lby_256:	factors 256

/* x^95 mod P, for a result whose coefficient of x^i is in bit 95 - i. */
.balign 16
.Lby_32_bits:
	set_power .Lfirst, 95
	.quad .Lfirst, 0
.Lbarrett:
	set_quotient .Lquotient
	.quad .Lquotient, WHOLE_POLYNOMIAL

/* Orders for pshufb: those from N on move bytes up by 16 - N, those from 16 + N on down by N. */
.Lmove_bytes:
	.quad 0x8080808080808080, 0x8080808080808080
	.quad 0x0706050403020100, 0x0f0e0d0c0b0a0908
	.quad 0x8080808080808080, 0x8080808080808080

.text

/* Registers of all functions */
#define CRC	%edi
#define FROM	%rsi
#define LEN	%rdx

/* Move \acc behind itself by the factors \by. */
.macro fold acc, by, tmp
	movdqa		\acc, \tmp
	pclmulqdq	$0x00, \by, \acc
	pclmulqdq	$0x11, \by, \tmp
	pxor		\tmp, \acc
.endm

/* The same, and add the register \onto. */
.macro fold_onto acc, by, onto, tmp
	fold		\acc, \by, \tmp
	pxor		\onto, \acc
.endm

/*
 * End of all functions: %xmm1 stands before the bytes at FROM, of which LEN are left, 0 or
 * more. The 16 bytes before FROM are the message's, too.
 */
SYM_FUNC_START_LOCAL(crc32_rest)
	movdqa		.Lby_16(%rip), %xmm2
	sub		$16, LEN
	jl		.Lrest_tail
.Lrest_loop:
	movdqu		(FROM), %xmm3
	fold_onto	%xmm1, %xmm2, %xmm3, %xmm4
	add		$16, FROM
	sub		$16, LEN
	jge		.Lrest_loop
.Lrest_tail:
	add		$16, LEN
	jz		.Lrest_reduce

	/*
	 * 1 to 15 bytes are left. Make two registers of %xmm1 and them: %xmm6 has the last 16
	 * bytes of both, %xmm1 keeps those before, behind zeros.
	 */
	lea		.Lmove_bytes(%rip), %rax
	movdqu		(%rax, LEN), %xmm3
	movdqu		16(%rax, LEN), %xmm0
	movdqu		-16(FROM, LEN), %xmm5
	movdqa		%xmm1, %xmm6
	pshufb		%xmm3, %xmm1
	pshufb		%xmm0, %xmm6
	pblendvb	%xmm0, %xmm5, %xmm6
	fold_onto	%xmm1, %xmm2, %xmm6, %xmm4

.Lrest_reduce:
	/* From 128 coefficients times x^32 to 96 */
	movdqa		%xmm1, %xmm3
	psrldq		$8, %xmm3
	pclmulqdq	$0x00, .Lby_32_bits(%rip), %xmm1
	pxor		%xmm3, %xmm1
	/* To 32, after Barrett: subtract P times the quotient */
	movdqa		%xmm1, %xmm3
	pclmulqdq	$0x00, .Lbarrett(%rip), %xmm1
	pclmulqdq	$0x10, .Lbarrett(%rip), %xmm1
	pxor		%xmm3, %xmm1
	pextrd		$2, %xmm1, %eax
	RET
SYM_FUNC_END(crc32_rest)

/* u32 pavo_crc32_128(u32 crc, const u8 *from, size_t len), len >= 16: PCLMULQDQ, SSE4.1 */
SYM_FUNC_START(pavo_crc32_128)
	movd		CRC, %xmm5
	movdqu		(FROM), %xmm1
	pxor		%xmm5, %xmm1
	cmp		$64, LEN
	jb		.L128_short
	movdqu		16(FROM), %xmm2
	movdqu		32(FROM), %xmm3
	movdqu		48(FROM), %xmm4
	add		$64, FROM
	sub		$128, LEN
	jl		.L128_merge
	movdqa		.Lby_64(%rip), %xmm0
.L128_loop:
	movdqu		(FROM), %xmm9
	movdqu		16(FROM), %xmm10
	movdqu		32(FROM), %xmm11
	movdqu		48(FROM), %xmm12
	fold_onto	%xmm1, %xmm0, %xmm9, %xmm5
	fold_onto	%xmm2, %xmm0, %xmm10, %xmm6
	fold_onto	%xmm3, %xmm0, %xmm11, %xmm7
	fold_onto	%xmm4, %xmm0, %xmm12, %xmm8
	add		$64, FROM
	sub		$64, LEN
	jge		.L128_loop
.L128_merge:
	fold		%xmm1, .Lby_48(%rip), %xmm5
	fold		%xmm2, .Lby_32(%rip), %xmm6
	fold		%xmm3, .Lby_16(%rip), %xmm7
	pxor		%xmm2, %xmm1
	pxor		%xmm3, %xmm4
	pxor		%xmm4, %xmm1
	add		$64, LEN
	jmp		crc32_rest
.L128_short:
	add		$16, FROM
	sub		$16, LEN
	jmp		crc32_rest
SYM_FUNC_END(pavo_crc32_128)

/* u32 pavo_crc32_256(u32 crc, const u8 *from, size_t len), len >= 16: VPCLMULQDQ, AVX2 */
.macro fold_256 acc, by, tmp
	vpclmulqdq	$0x11, \by, \acc, \tmp
	vpclmulqdq	$0x00, \by, \acc, \acc
	vpxor		\tmp, \acc, \acc
.endm

SYM_FUNC_START(pavo_crc32_256)
	/* The upper halves may be in use by the process: code without them is slow then. */
	vzeroupper
	cmp		$128, LEN
	jb		.L256_short
	vmovd		CRC, %xmm5
	vpxor		(FROM), %ymm5, %ymm1
	vmovdqu		32(FROM), %ymm2
	vmovdqu		64(FROM), %ymm3
	vmovdqu		96(FROM), %ymm4
	sub		$-128, FROM
	sub		$256, LEN
	jl		.L256_merge
	vbroadcasti128	.Lby_128(%rip), %ymm0
.L256_loop:
	fold_256	%ymm1, %ymm0, %ymm5
	fold_256	%ymm2, %ymm0, %ymm6
	fold_256	%ymm3, %ymm0, %ymm7
	fold_256	%ymm4, %ymm0, %ymm8
	vpxor		(FROM), %ymm1, %ymm1
	vpxor		32(FROM), %ymm2, %ymm2
	vpxor		64(FROM), %ymm3, %ymm3
	vpxor		96(FROM), %ymm4, %ymm4
	sub		$-128, FROM
	add		$-128, LEN
	jge		.L256_loop
.L256_merge:
	vbroadcasti128	.Lby_96(%rip), %ymm9
	vbroadcasti128	.Lby_64(%rip), %ymm10
	vbroadcasti128	.Lby_32(%rip), %ymm0
	fold_256	%ymm1, %ymm9, %ymm5
	fold_256	%ymm2, %ymm10, %ymm6
	fold_256	%ymm3, %ymm0, %ymm7
	vpxor		%ymm2, %ymm1, %ymm1
	vpxor		%ymm4, %ymm3, %ymm3
	vpxor		%ymm3, %ymm1, %ymm1
	add		$(128 - 32), LEN
	jl		.L256_lanes
.L256_single:
	fold_256	%ymm1, %ymm0, %ymm5
	vpxor		(FROM), %ymm1, %ymm1
	add		$32, FROM
	sub		$32, LEN
	jge		.L256_single
.L256_lanes:
	add		$32, LEN
	vmovdqu		.Lby_16(%rip), %ymm0
	fold_256	%ymm1, %ymm0, %ymm5
	vextracti128	$1, %ymm1, %xmm2
	vpxor		%xmm2, %xmm1, %xmm1
	vzeroupper
	jmp		crc32_rest
.L256_short:
	jmp		pavo_crc32_128
SYM_FUNC_END(pavo_crc32_256)

/*
 * u32 pavo_crc32_512(u32 crc, const u8 *from, size_t len), len >= 16: VPCLMULQDQ, AVX-512F
 */
.macro fold_512 acc, by, onto, tmp
	vpclmulqdq	$0x11, \by, \acc, \tmp
	vpclmulqdq	$0x00, \by, \acc, \acc
	vpternlogq	$0x96, \onto, \tmp, \acc
.endm

SYM_FUNC_START(pavo_crc32_512)
	vzeroupper
	cmp		$256, LEN
	jb		.L512_short
	vmovd		CRC, %xmm5
	vpxorq		(FROM), %zmm5, %zmm1
	vmovdqu64	64(FROM), %zmm2
	vmovdqu64	128(FROM), %zmm3
	vmovdqu64	192(FROM), %zmm4
	add		$256, FROM
	sub		$512, LEN
	jl		.L512_merge
	vbroadcasti32x4	.Lby_256(%rip), %zmm0
.L512_loop:
	fold_512	%zmm1, %zmm0, (FROM), %zmm5
	fold_512	%zmm2, %zmm0, 64(FROM), %zmm6
	fold_512	%zmm3, %zmm0, 128(FROM), %zmm7
	fold_512	%zmm4, %zmm0, 192(FROM), %zmm8
	add		$256, FROM
	sub		$256, LEN
	jge		.L512_loop
.L512_merge:
	vbroadcasti32x4	.Lby_192(%rip), %zmm9
	vbroadcasti32x4	.Lby_128(%rip), %zmm10
	vbroadcasti32x4	.Lby_64(%rip), %zmm0
	fold_512	%zmm3, %zmm0, %zmm4, %zmm7
	vpclmulqdq	$0x11, %zmm9, %zmm1, %zmm5
	vpclmulqdq	$0x00, %zmm9, %zmm1, %zmm1
	fold_512	%zmm2, %zmm10, %zmm5, %zmm6
	vpternlogq	$0x96, %zmm3, %zmm2, %zmm1
	add		$(256 - 64), LEN
	jl		.L512_lanes
.L512_single:
	fold_512	%zmm1, %zmm0, (FROM), %zmm5
	add		$64, FROM
	sub		$64, LEN
	jge		.L512_single
.L512_lanes:
	add		$64, LEN
	vmovdqa64	.Lby_48(%rip), %zmm0
	vpclmulqdq	$0x11, %zmm0, %zmm1, %zmm5
	vpclmulqdq	$0x00, %zmm0, %zmm1, %zmm1
	vpxorq		%zmm5, %zmm1, %zmm1
	vextracti64x4	$1, %zmm1, %ymm2
	vpxor		%ymm2, %ymm1, %ymm1
	vextracti128	$1, %ymm1, %xmm2
	vpxor		%xmm2, %xmm1, %xmm1
	vzeroupper
	jmp		crc32_rest
.L512_short:
	jmp		pavo_crc32_128
SYM_FUNC_END(pavo_crc32_512)
