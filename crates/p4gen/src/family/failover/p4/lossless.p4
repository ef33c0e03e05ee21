// Lossless: a packet carries a tag in the header, the first by the class that its host picked with the
// DSCP. Once the output port is chosen, `classify` looks (arriving tag, in port, out port) up:
//   ING_PRIO  the class of the ARRIVING tag, which this switch accounts, and pauses upstream;
//   EG_PRIO   the class of the NEW tag, in whose queue the packet waits, and which the next switch
//             pauses.
{%- if v.tag.channels %}
// `rewrite` writes the new tag. At a packet's first switch the rule that sends it gives it a channel,
// which is its tag from there on. The ways of a channel's packets close no cycle of buffers that wait
// for each other, whatever has failed. What no rule matches is lossy, last and always.
{%- else %}
// `rewrite` writes the new tag. Tags rise where keeping them could close a cycle of buffers that wait
// for each other, whatever has failed. What no rule matches is lossy, last and always.
{%- endif %}
