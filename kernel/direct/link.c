// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * link.c - the link side of a direct window: its functions as a region that requesters claim
 * (memory/claim.h), in any context. The bytes at an address are those of a range.
 *
 * The caller has found the region by its key in this RCU section, so the window exists. A slot
 * points to the queue pair whose work request has claimed it until that work request is released:
 * at its completion, its flush, or the reset of the queue pair.
 */
#include "direct/direct_private.h"
#include "memory/key_state.h"

/* Find the slot of @va; NULL: none. */
static struct pavo_direct_slot *find_slot(const struct pavo_region *region,
					  u64 va, u64 len,
					  struct pavo_direct_place *place)
{
	struct pavo_direct *window = region->owner;

	if (pavo_direct_find(&window->shape, va, len, place))
		return NULL;
	return &window->slots[place->range];
}

/* True if the work request has claimed the slot. */
static bool has_claimed(const struct pavo_direct_slot *slot,
			const struct pavo_claim *claim)
{
	return slot->key_state == claim->key_state && slot->wqe == claim->wqe;
}

/* True if the work request has claimed the slot, or may claim it. */
static bool may_claim(const struct pavo_direct_slot *slot,
		      const struct pavo_claim *claim)
{
	return slot->key_state || claim->claimed ? has_claimed(slot, claim) :
						   true;
}

static enum pavo_status claim_write(struct pavo_direct *window,
				    struct pavo_direct_slot *slot,
				    const struct pavo_direct_place *place,
				    u32 len)
{
	struct pavo_direct_range *range = &slot->range;

	if (range->read)
		return PAVO_ST_STATE;
	if (place->offset + len > range->total)
		return PAVO_ST_RANGE;
	switch (range->state) {
	case PAVO_DIRECT_FILLING:
	case PAVO_DIRECT_CLOSING:
	case PAVO_DIRECT_INPUT:
		return PAVO_ST_WAIT;
	case PAVO_DIRECT_FAILED:
		return PAVO_ST_IO;
	case PAVO_DIRECT_FULL:
		pavo_direct_transition(range, PAVO_DIRECT_SENDING);
		pavo_direct_publish(window, place->range);
		pavo_count(window->dev, direct_sent);
		return PAVO_ST_OK;
	case PAVO_DIRECT_SENDING:
		return PAVO_ST_OK;
	default:
		return PAVO_ST_STATE;
	}
}

static enum pavo_status claim_read(struct pavo_direct_slot *slot,
				   const struct pavo_direct_place *place,
				   u32 len)
{
	const struct pavo_direct_range *range = &slot->range;

	if (!range->read || range->state != PAVO_DIRECT_REQUESTED)
		return PAVO_ST_STATE;
	return place->offset || len != range->total ? PAVO_ST_RANGE :
						      PAVO_ST_OK;
}

static enum pavo_status claim_range(const struct pavo_claim *claim,
				    const struct pavo_region *region, u64 va,
				    u32 len, bool read)
{
	struct pavo_direct *window = region->owner;
	struct pavo_direct_slot *slot;
	struct pavo_direct_place place;
	enum pavo_status status;

	slot = find_slot(region, va, len, &place);
	if (!slot) {
		pavo_count(claim->key_state->dev, direct_refused);
		return PAVO_ST_RANGE;
	}
	spin_lock_bh(&window->lock);
	if (window->closed || !may_claim(slot, claim))
		status = PAVO_ST_STATE;
	else if (read)
		status = claim_read(slot, &place, len);
	else
		status = claim_write(window, slot, &place, len);
	if (status == PAVO_ST_OK || status == PAVO_ST_WAIT) {
		slot->key_state = claim->key_state;
		slot->wqe = claim->wqe;
	} else {
		pavo_count(claim->key_state->dev, direct_refused);
	}
	spin_unlock_bh(&window->lock);
	return status;
}

/* Make the side wait until the bus side has drained the range. Locked. */
static enum pavo_status wait_for_drain(struct pavo_direct_slot *slot,
				       struct pavo_missing *missing)
{
	slot->missing = missing;
	WRITE_ONCE(missing->state, PAVO_MISSING_WAITING);
	return PAVO_ST_WAIT;
}

static enum pavo_status begin_load(const struct pavo_claim *claim,
				   const struct pavo_region *region, u64 va,
				   struct pavo_missing *missing, u64 *to)
{
	struct pavo_direct *window = region->owner;
	enum pavo_status status = PAVO_ST_STATE;
	struct pavo_direct_slot *slot;
	struct pavo_direct_place place;
	struct pavo_direct_range *range;

	slot = find_slot(region, va, 1, &place);
	if (!slot)
		return PAVO_ST_RANGE;
	range = &slot->range;
	spin_lock_bh(&window->lock);
	if (window->closed || !has_claimed(slot, claim) || !range->read)
		goto out;
	switch (range->state) {
	case PAVO_DIRECT_REQUESTED:
	case PAVO_DIRECT_DRAINED:
		if (place.offset != range->done + range->response)
			break;
		pavo_direct_transition(range, PAVO_DIRECT_LOADING);
		*to = pavo_direct_get_address(&window->shape, place.range) +
		      (range->whole ? range->response : 0);
		status = PAVO_ST_OK;
		break;
	case PAVO_DIRECT_LOADED:
	case PAVO_DIRECT_EMPTYING:
		status = wait_for_drain(slot, missing);
	}
out:
	spin_unlock_bh(&window->lock);
	return status;
}

static void end_load(const struct pavo_region *region, u64 va, u32 len)
{
	struct pavo_direct *window = region->owner;
	struct pavo_direct_slot *slot;
	struct pavo_direct_place place;

	slot = find_slot(region, va, 1, &place);
	if (!slot)
		return;
	spin_lock_bh(&window->lock);
	if (slot->range.state == PAVO_DIRECT_LOADING) {
		pavo_direct_load(&slot->range, len);
		pavo_direct_publish(window, place.range);
		if (slot->range.state == PAVO_DIRECT_OUTPUT)
			pavo_direct_begin_drain(window, place.range);
	}
	if (!window->closed)
		pavo_stats_add(&window->dev->stats, direct_copied, len);
	spin_unlock_bh(&window->lock);
}

static enum pavo_status check_range_drained(const struct pavo_claim *claim,
					    const struct pavo_region *region,
					    u64 va,
					    struct pavo_missing *missing)
{
	struct pavo_direct *window = region->owner;
	enum pavo_status status = PAVO_ST_STATE;
	struct pavo_direct_slot *slot;
	struct pavo_direct_place place;

	slot = find_slot(region, va, 1, &place);
	if (!slot)
		return PAVO_ST_RANGE;
	spin_lock_bh(&window->lock);
	if (window->closed || !has_claimed(slot, claim))
		goto out;
	switch (slot->range.state) {
	case PAVO_DIRECT_DRAINED:
		status = PAVO_ST_OK;
		break;
	case PAVO_DIRECT_REQUESTED:
		/* More bytes are to arrive before the hand-over. */
		status = PAVO_ST_OK;
		break;
	case PAVO_DIRECT_FAILED:
		status = PAVO_ST_IO;
		break;
	case PAVO_DIRECT_LOADED:
	case PAVO_DIRECT_EMPTYING:
	case PAVO_DIRECT_OUTPUT:
		status = wait_for_drain(slot, missing);
	}
out:
	spin_unlock_bh(&window->lock);
	return status;
}

static void release_range(const struct pavo_claim *claim,
			  const struct pavo_region *region, u64 va)
{
	struct pavo_direct *window = region->owner;
	struct pavo_direct_slot *slot;
	struct pavo_direct_place place;

	slot = find_slot(region, va, 1, &place);
	if (!slot)
		return;
	spin_lock_bh(&window->lock);
	if (slot->range.state == PAVO_DIRECT_IDLE || !may_claim(slot, claim))
		goto out;
	if (slot->missing) {
		/* Pairs with the acquire in pavo_side_waits(). */
		smp_store_release(&slot->missing->state, PAVO_MISSING_NONE);
		slot->missing = NULL;
	}
	slot->key_state = NULL;
	pavo_direct_drop_io(slot);
	switch (slot->range.state) {
	case PAVO_DIRECT_SENDING:
	case PAVO_DIRECT_DRAINED:
	case PAVO_DIRECT_FAILED:
		pavo_direct_give_buffer(window, place.range);
		pavo_direct_transition(&slot->range, PAVO_DIRECT_IDLE);
		pavo_direct_publish(window, place.range);
		break;
	case PAVO_DIRECT_ENDING:
		break;
	default:
		/* Pages may be mapped, and unmapping sleeps. */
		pavo_direct_begin_ending(window, place.range);
		if (!window->closed)
			queue_work(window->dev->end_wq, &window->end);
	}
out:
	spin_unlock_bh(&window->lock);
}

static void count_copied(const struct pavo_stats *stats, u32 len)
{
	pavo_stats_add(stats, direct_copied, len);
}

const struct pavo_claim_ops pavo_direct_claims = {
	.kind = "direct",
	.claim = claim_range,
	.load_begin = begin_load,
	.load_end = end_load,
	.drained = check_range_drained,
	.release = release_range,
	.copied = count_copied,
};
