package run

// StartOnSeen is what a call does after the price of the run that it may reach was checked.
var StartOnSeen = startOn
