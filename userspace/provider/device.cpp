// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * device.cpp - how libibverbs finds out that a device is ours.
 *
 * Owns: the registration with libibverbs. A device is recognised by the sysfs
 * attribute pavo_abi that only our module exports, never by its name: the user
 * chooses that (rdma link add NAME type pavo ...).
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "provider.h"

namespace pavo {
namespace {

void complain_once(const char *device, const char *found)
{
	static std::atomic<bool> done{false};

	if (done.exchange(true))
		return;
	fprintf(stderr,
		"libpavo: device %s has kernel interface version \"%s\", this "
		"provider knows version %d only.\n"
		"libpavo: install the provider and the module of the same "
		"release; the device is ignored.\n",
		device, found, PAVO_ABI_VERSION);
}

bool match_device(verbs_sysfs_dev *sysfs)
{
	char text[32];
	char *end;
	unsigned long version;

	if (ibv_read_sysfs_file(sysfs->ibdev_path, "pavo_abi", text,
				sizeof(text)) <= 0)
		return false;
	errno = 0;
	version = strtoul(text, &end, 10);
	if (errno || end == text || *end || version != PAVO_ABI_VERSION) {
		complain_once(sysfs->ibdev_name, text);
		return false;
	}
	return true;
}

verbs_device *alloc_device(verbs_sysfs_dev *)
{
	auto device = make_object<Device>();

	return device ? &device.release()->verbs : nullptr;
}

void uninit_device(verbs_device *device)
{
	adopt_object(reinterpret_cast<Device *>(device)).reset();
}

/*
 * The table has no entry but the end: match_device() decides. libibverbs walks
 * it for every device whose driver has a number, rdma_rxe's for one.
 */
const verbs_match_ent match_nothing[] = {{}};

/* The range is wide open because match_device() has checked the version. */
const verbs_device_ops device_ops = {
	.name = "pavo",
	.match_min_abi_version = 0,
	.match_max_abi_version = UINT32_MAX,
	.match_table = match_nothing,
	.static_providers = nullptr,
	.match_device = match_device,
	.alloc_context = alloc_context,
	.import_context = nullptr,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

[[gnu::constructor]] void register_provider()
{
	pavo_verbs_register_driver(&device_ops);
}

} // namespace

bool is_pavo(const ibv_context *context)
{
	auto *device = reinterpret_cast<verbs_device *>(context->device);

	return device->ops == &device_ops;
}

} // namespace pavo
