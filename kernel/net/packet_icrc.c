// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * packet_icrc.c - computes the ICRC over a whole packet: head, fragments and list of an skb.
 *
 * Called by tx.c for packets that are sent, and by rx.c and gro.c for received ones. wire/ masks
 * the variant header fields (pavo_icrc_build_head()); this file computes the CRC over that and the
 * rest of the packet by the fastest implementation of the machine. There are three:
 *
 * - The functions of wire/crc32_x86.h, on 64-bit x86 where crc32_le() of the kernel uses tables: up
 *   to Linux 6.13, and in User-Mode Linux.
 * - The crypto API, on other CPUs up to Linux 6.13. The cost of that API (indirect calls,
 *   entering and leaving the FPU) pays off from some length on.
 * - crc32_le() itself. It uses the CPU's instructions in later kernels, and on arm64 in
 *   all.
 */
#include <linux/crc32.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include "compat.h"
#include "net_private.h"

#if defined(PAVO_CRC32_BY_VECTORS)
#include <asm/fpu/api.h>
#include <linux/kasan-checks.h>
#include "wire/crc32_x86.h"
#elif defined(PAVO_CRC32_BY_CRYPTO)
#include <crypto/hash.h>
#endif

/* A CRC that is being computed. */
struct packet_crc {
	u32 value;
	bool owns_registers; /* the vector registers, from begin_crc() to end_crc() */
};

#if defined(PAVO_CRC32_BY_VECTORS)

static enum pavo_crc_way crc_way __ro_after_init;

/*
 * Take the vector registers once for all blocks of a packet, because saving their content costs
 * more than the CRC of a short block. Preemption is disabled meanwhile, for the few microseconds
 * that 64 KiB take, the most that a packet has.
 */
static void begin_crc(struct packet_crc *crc)
{
	crc->value = ~0u;
	crc->owns_registers = crc_way != PAVO_CRC_BY_NONE && irq_fpu_usable();
	if (likely(crc->owns_registers))
		kernel_fpu_begin();
}

static void add_to_crc(struct packet_crc *crc, const void *p, unsigned int len)
{
	if (len < PAVO_CRC_MIN || unlikely(!crc->owns_registers)) {
		crc->value = crc32_le(crc->value, p, len);
		return;
	}
	kasan_check_read(p, len);
	crc->value = pavo_crc32(crc_way, crc->value, p, len);
}

static void end_crc(const struct packet_crc *crc)
{
	if (likely(crc->owns_registers))
		kernel_fpu_end();
}

#define CRC_TEST_LEN 1100

/* True if an implementation agrees with crc32_le(). The lengths reach all of its branches. */
static bool test_crc(enum pavo_crc_way way, const u8 *bytes)
{
	static const u16 lens[] = { 16,	 17,  31,  32,	48,  63,  68,  112, 127,
				    128, 143, 200, 255, 300, 511, 640, 1023 };
	unsigned int i, offset;
	u32 crc;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (offset = 0; offset < 65; offset += 13) {
			kernel_fpu_begin();
			crc = pavo_crc32(way, ~i, bytes + offset, lens[i]);
			kernel_fpu_end();
			if (crc != crc32_le(~i, bytes + offset, lens[i]))
				return false;
		}
	}
	return true;
}

int pavo_icrc_init(void)
{
	enum pavo_crc_way way = pavo_find_crc_way();
	u8 *bytes = kmalloc(CRC_TEST_LEN, GFP_KERNEL);
	unsigned int i;

	if (!bytes)
		return -ENOMEM;
	for (i = 0; i < CRC_TEST_LEN; i++)
		bytes[i] = i * 167 >> 3;
	while (way != PAVO_CRC_BY_NONE && !test_crc(way, bytes)) {
		pr_warn("CRC by %s is wrong\n", pavo_crc_way_name(way));
		way--;
	}
	kfree(bytes);
	crc_way = way;
	if (way != PAVO_CRC_BY_NONE)
		pr_info("CRC by %s\n", pavo_crc_way_name(way));
	return 0;
}

void pavo_icrc_exit(void)
{
}

#elif defined(PAVO_CRC32_BY_CRYPTO)

/*
 * From this many bytes on the accelerated CRC is faster than the table: 80 if
 * the block is aligned to 16 bytes, 112 if it begins and ends anywhere
 * (instructions counted on x86-64: 200 for 80 bytes, 1770 for 4096).
 */
#define PAVO_CRC_LONG 96

/*
 * A descriptor of the shash. Its state is the CRC without the final complement; the self test
 * checks that.
 */
struct crc_desc {
	struct shash_desc desc;
	u32 crc;
};

static struct crypto_shash *crc_tfm;

static u32 add_long_to_crc(u32 crc, const void *p, unsigned int len)
{
	struct crc_desc d = { .desc.tfm = crc_tfm };
	u32 *state = shash_desc_ctx(&d.desc);

	*state = crc;
	crypto_shash_update(&d.desc, p, len);
	return *state;
}

static void begin_crc(struct packet_crc *crc)
{
	crc->value = ~0u;
}

static void add_to_crc(struct packet_crc *crc, const void *p, unsigned int len)
{
	if (len >= PAVO_CRC_LONG && crc_tfm)
		crc->value = add_long_to_crc(crc->value, p, len);
	else
		crc->value = crc32_le(crc->value, p, len);
}

static void end_crc(const struct packet_crc *crc)
{
}

/* True if the algorithm keeps its state as add_long_to_crc() expects. */
static bool test_crc(struct crypto_shash *tfm)
{
	u8 *buf;
	bool ok;
	int i;

	if (crypto_shash_descsize(tfm) != sizeof(u32))
		return false;
	buf = kmalloc(1024, GFP_KERNEL);
	if (!buf)
		return false;
	for (i = 0; i < 1024; i++)
		buf[i] = i * 167 >> 3;
	crc_tfm = tfm;
	ok = add_long_to_crc(0x12345678, buf + 1, 1000) ==
	     crc32_le(0x12345678, buf + 1, 1000);
	crc_tfm = NULL;
	kfree(buf);
	return ok;
}

int pavo_icrc_init(void)
{
	/* Look for the driver first: "crc32" is any driver that is loaded. */
	static const char *const names[] = { "crc32-pclmul", "crc32" };
	struct crypto_shash *tfm;
	const char *driver;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		tfm = crypto_alloc_shash(names[i], 0, 0);
		if (IS_ERR(tfm))
			continue;
		driver = crypto_tfm_alg_driver_name(crypto_shash_tfm(tfm));
		/* the generic driver only calls crc32_le() */
		if (strcmp(driver, "crc32-generic") && test_crc(tfm)) {
			crc_tfm = tfm;
			pr_info("CRC by %s\n", driver);
			return 0;
		}
		crypto_free_shash(tfm);
	}
	return 0;
}

void pavo_icrc_exit(void)
{
	crypto_free_shash(crc_tfm);
	crc_tfm = NULL;
}

MODULE_SOFTDEP("pre: crc32-pclmul");

#else /* crc32_le() is the fastest */

static void begin_crc(struct packet_crc *crc)
{
	crc->value = ~0u;
}

static void add_to_crc(struct packet_crc *crc, const void *p, unsigned int len)
{
	crc->value = crc32_le(crc->value, p, len);
}

static void end_crc(const struct packet_crc *crc)
{
}

int pavo_icrc_init(void)
{
	return 0;
}

void pavo_icrc_exit(void)
{
}

#endif

/* Add a part of a fragment to the CRC. Return: 0; -EFAULT: it is memory of a device. */
static int add_frag_to_crc(struct packet_crc *crc, const skb_frag_t *frag,
			   unsigned int offset, unsigned int len)
{
	u32 page_offset, page_len, done;
	struct page *page;
	void *map;

	if (unlikely(!skb_frag_page(frag)))
		return -EFAULT;
	skb_frag_foreach_page(frag, skb_frag_off(frag) + offset, len, page,
			      page_offset, page_len, done)
	{
		map = kmap_local_page(page);
		add_to_crc(crc, map + page_offset, page_len);
		kunmap_local(map);
	}
	return 0;
}

static int add_list_to_crc(struct packet_crc *crc, const struct sk_buff *skb,
			   unsigned int from, unsigned int len);

/*
 * Add [@from, @from + @len) of an skb to the CRC: linear part, fragments, list of further skbs.
 * Return: 0; -EFAULT: some of the bytes cannot be read.
 */
static int add_skb_to_crc(struct packet_crc *crc, const struct sk_buff *skb,
			  unsigned int from, unsigned int len)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int size = skb_headlen(skb);
	unsigned int n;
	int err, i;

	if (from < size) {
		n = min(len, size - from);
		add_to_crc(crc, skb->data + from, n);
		from += n;
		len -= n;
	}
	from -= size;
	for (i = 0; len && i < info->nr_frags; i++) {
		size = skb_frag_size(&info->frags[i]);
		if (from < size) {
			n = min(len, size - from);
			err = add_frag_to_crc(crc, &info->frags[i], from, n);
			if (err)
				return err;
			from += n;
			len -= n;
		}
		from -= size;
	}
	return likely(!len) ? 0 : add_list_to_crc(crc, skb, from, len);
}

/* As add_skb_to_crc(), for the list of further skbs alone. */
static int add_list_to_crc(struct packet_crc *crc, const struct sk_buff *skb,
			   unsigned int from, unsigned int len)
{
	struct sk_buff *next;
	unsigned int n;
	int err;

	skb_walk_frags(skb, next) {
		if (from < next->len) {
			n = min(len, next->len - from);
			err = add_skb_to_crc(crc, next, from, n);
			if (err)
				return err;
			from += n;
			len -= n;
		}
		if (!len)
			return 0;
		from -= next->len;
	}
	return -EFAULT;
}

int pavo_packet_crc(u32 *crc, const struct sk_buff *skb, const void *ip,
		    bool ipv6, const void *udp, const void *bth,
		    unsigned int from, unsigned int len)
{
	u8 head[PAVO_ICRC_HEAD_MAX] __aligned(8);
	unsigned int head_len = pavo_icrc_build_head(head, ip, ipv6, udp, bth);
	struct packet_crc run;
	int err;

	begin_crc(&run);
	add_to_crc(&run, head, head_len);
	err = add_skb_to_crc(&run, skb, from, len);
	end_crc(&run);
	*crc = run.value;
	return err;
}
