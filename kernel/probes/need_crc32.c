/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Needed for the ICRC of its packets.
 * CRC32: CRC-32 (CONFIG_CRC32)
 */
#include <linux/kconfig.h>

#if !IS_ENABLED(CONFIG_CRC32)
#error "CONFIG_CRC32 is off"
#endif
