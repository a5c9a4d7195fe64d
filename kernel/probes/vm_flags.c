/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * VM_FLAGS_SET: functions change the flags of a mapping
 * VM_FLAGS_FIELD: drivers change the flags of a mapping themselves
 */
#include <linux/mm.h>

void probe(struct vm_area_struct *vma)
{
#ifdef PAVO_HAS_VM_FLAGS_SET
	vm_flags_set(vma, VM_DONTEXPAND);
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags |= VM_DONTEXPAND;
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
}
